"""Autocast regions and switches."""

STATEMENTS = """\
with torch.autocast("cpu", torch.bfloat16): z = (z @ self.sq).float()
with torch.autocast("cpu", torch.float16, enabled=k % 2 == 0): z = (z @ self.sq + y @ self.sq).float()
with torch.autocast("cpu", torch.bfloat16), torch.no_grad(): vs.append((z @ self.sq).float())
with torch.autocast("cpu", torch.bfloat16): self.sq.data.mul_(0.5); z = (y @ self.sq).float()
with torch.autocast("cpu", torch.bfloat16): z = (z @ self.bq).float(); self.bq.add_(0.5); z = (z @ self.bq).float()
ac = torch.autocast("cpu", torch.bfloat16); ac.__enter__(); z = (z @ self.sq).float(); ac.__exit__(None, None, None)
with self.ac: z = (z @ self.sq).float()
z = z + torch.is_autocast_enabled("cpu") + torch.is_autocast_cache_enabled()
with torch.inference_mode(): k = k + 1
with torch.device("cpu"): z = z + torch.ones(3)
torch.set_autocast_cache_enabled(True)"""

INIT = """\
self.sq, self.ac = nn.Parameter(torch.eye(3) * 0.5), torch.autocast("cpu", torch.bfloat16)
self.register_buffer("bq", torch.eye(3))"""
