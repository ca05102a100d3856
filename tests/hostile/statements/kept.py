"""Values and sizes that the first call keeps, of parameters, buffers, constants and inputs; and changed later."""

INIT = """\
self.cache, self.table, self.seen, self.low = {}, None, 0, None
self.register_buffer("mask", None)"""

STATEMENTS = """\
if self.table is None: self.table = self.w * 2
if self.table is None: self.table = torch.arange(3.0).cos()
if self.table is None: self.table = self.b1[:]
if self.table is None: self.table = z.detach().mean(0)
z = z + (0 if self.table is None else self.table)
if self.table is not None: self.table = self.table.to(z)
if self.table is not None: self.table.mul_(0.5)
self.table = None
if "t" not in self.cache: self.cache["t"] = self.w.exp() + self.b1
z = z * self.cache.get("t", 1)
if z.shape[0] not in self.cache: self.cache[z.shape[0]] = torch.ones(3).cumsum(0)
self.cache.clear()
if self.seen != z.shape[0]: self.seen = z.shape[0]
z = z + self.seen
if z.shape[0] > self.seen: self.low, self.seen = torch.zeros(3) - 1, z.shape[0]
z = z if self.low is None else z * self.low
if self.mask is None: self.mask = torch.ones(3).tril()[None].mean(0) if False else torch.full((3,), 0.5)
z = z if self.mask is None else z + self.mask
if not hasattr(self, "late"): self.register_buffer("late", self.w.detach() + 1, persistent=False)
z = z * getattr(self, "late", 1)
with torch.no_grad(): self.low = self.w * 3 if self.low is None else self.low
self.pyramid = [z]; self.pyramid.append(z * 2); z = self.pyramid[-1] + len(self.pyramid)
self.sub.w = self.w
self.b1.mul_(0.5); z = z + self.b1
if self.low is not None: self.cache["low"] = self.low[:2]
z = z + self.cache["low"].sum() if "low" in self.cache else z"""
