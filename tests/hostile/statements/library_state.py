"""Objects of torch's and numpy's Python classes that keep state, and arrays of objects."""

HEADER = """\
import numpy as np
import torch
from torch.utils._ordered_set import OrderedSet


class Item:
    def __init__(self, n):
        self.n = n
        self.asked = 0

    def __add__(self, other):
        self.asked += 1
        return Item((self.n + getattr(other, "n", other)) % 5)

    __radd__ = __add__


SEEN = []
"""

INIT = """\
SEEN.clear()
self.opt = torch.optim.SGD([torch.nn.Parameter(torch.ones(3))], lr=0.5)
self.sched = torch.optim.lr_scheduler.StepLR(self.opt, 1, 0.5)
self.names, self.poly = OrderedSet([1]), np.poly1d([1.0, 2.0])
self.each, self.items = np.ndenumerate(np.arange(9.0)), np.array([Item(1), Item(2)], dtype=object)
self.fn, self.mapped = np.frompyfunc(lambda v: SEEN.append(1) or v, 1, 1), np.vectorize(lambda v: v + 1.0)
self.grid = np.arange(4.0)"""

STATEMENTS = """\
z = z * self.sched.get_last_lr()[0]
self.sched.step()
self.opt.zero_grad()
self.opt.param_groups[0]["lr"] = 0.5
z = z * self.opt.param_groups[0]["lr"]; self.opt.param_groups[0]["lr"] *= 0.5
self.names.add(k % 3); z = z + len(self.names)
own = OrderedSet([1, 2]); own.discard(1); z = z + len(own)
self.poly[0] = self.poly[0] % 3 + 1; z = z + float(self.poly(1.0))
z = z + float(self.poly(2.0))
z = z + float(next(self.each)[1])
z = z + sum(float(v) for _, v in np.ndenumerate(np.arange(3.0)))
z = z + (self.items + 1)[0].n
z = z + self.items[1].asked % 3
z = z + np.sum(self.items).n
z = z + len(self.fn(np.arange(2))) + len(SEEN) % 4
z = z + float(self.mapped(np.arange(3)).sum())
np.add(self.grid, 1, self.grid); z = z + float(self.grid[0] % 3)
self.grid.flat = self.grid[::-1].copy(); z = z + float(self.grid[0])
z = z + float(np.cumsum(self.grid)[-1] % 3)
part = np.ones(2); np.multiply(part, 2, part); z = z + float(part.sum())
with torch.profiler.record_function("block"): z = z * 0.5"""
