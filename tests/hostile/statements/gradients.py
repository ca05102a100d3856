"""Gradients: regions, questions about flags, and what changes no value."""

STATEMENTS = """\
z = z + (z.round() - z).detach()
z = z * 2 if z.requires_grad else z * 3
z = z + (z.grad_fn is None)
z = 2 * z.detach() - z
with torch.no_grad(): z = z + z.mean()
z = z + isinstance(torch.nn.Parameter(z.detach()), torch.nn.Parameter)"""
