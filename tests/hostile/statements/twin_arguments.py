"""Containers and tensors that are two arguments at once."""

from tests.export.generated import Signature

_LAST = "torch.randn(2, 3), torch.randn(2, 3)"
SIGNATURES = [
    Signature("x, y", "twice(torch.randn(2, 3))"),
    Signature("rows, again, x, y", f"(*twice([torch.randn(3)]), {_LAST})"),
    Signature("rows, again, x, y", f"([v := torch.randn(3)], [v], {_LAST})"),
    Signature("rows, again, x, y", f"([torch.randn(1)], [torch.randn(1)], {_LAST})"),
    Signature("both, x, y", f'({{"a": (v := [torch.randn(3)]), "b": v}}, {_LAST})', "rows, again = both.values()"),
    Signature("rows, x, y, *, again", f'((v := [torch.randn(1)]), {_LAST}), {{"again": v}}'),
    Signature("rows, x, again, y", "((v := [torch.randn(2, 3)]), v[0], v, v[0])"),
]

HEADER = """\
import torch


def twice(value):
    return value, value


rows, again = [torch.ones(1)], [torch.zeros(1)]


"""

STATEMENTS = """\
z = z * (2 if rows is again else 3)
z = z * (2 if rows == again else 3)
z = z * (2 if rows[0] is again[0] else 3)
z = z * (2 if rows[0] in again else 3)
z = z + rows.index(again[0])
z = z + rows.count(rows[0]) + len(rows) - len(again)
z = z + (x is y) + (x in [y, z])
z = z + len({x, y}) + len({x: 1, y: 2})
z = z + rows[0] * again[-1]
mine = list(rows); mine.append(z); z = z + len(rows)
mine = [*again]; mine.remove(rows[0]); z = z + len(mine)
z = z + (dict(enumerate(rows)) == dict(enumerate(again)))
z = z + ((rows[0], 1) <= (again[0], 2))
z = z + ([x, k] == [y, k])
z = z + sum(v.sum() for v in {id(rows): rows[0], id(again): again[0]}.values())
vs.extend(rows); z = z + vs[-1]
rows[0].add_(1); z = z + again[0]
x.mul_(0.5); z = z + y
again.append(z); z = z + rows[-1]
self.last = rows; z = z + len(self.last)"""
