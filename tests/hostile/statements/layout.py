"""Questions about memory layout, asked by a kernel or by the program."""

STATEMENTS = """\
v = z.contiguous(); z = z + (v is z)
z = z.t().contiguous().t(); z = z + z.is_contiguous()
v = z.t(); v = v.contiguous(); z = z + v.t() * v.is_contiguous()
v = x.contiguous(); v = v + 1; z = z + v
v = x.reshape(-1); z = z + v[0] * x.stride(0)
v = z.contiguous(); v.add_(1); z = z * 2
vs.append(z.contiguous()); z = z + vs[-1]
z = z + torch.ops.aten.is_contiguous(y)
z = z.flip(0).contiguous().view(-1).view(z.shape)"""
