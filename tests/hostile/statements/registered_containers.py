"""Statements with containers whose functions a library or the user has registered."""

HEADER = """
from torch.utils import _pytree as pytree
from tests.hostile.programs.container_kinds import Row
from tests.hostile.programs.registered_containers import Copying, Counting, Growing, Packed, Plain, Point
"""

INIT = """\
self.box = Plain(torch.ones(3), torch.zeros(3), 2)"""

STATEMENTS = """\
z = z + Growing(z, z * 2, k).left
z = Packed(z, z + 1).right * 2
leaves, spec = pytree.tree_flatten(Copying(z, z + 1, k)); z = pytree.tree_unflatten(leaves, spec).left
leaves, spec = pytree.tree_flatten({"a": [z, None], "b": Plain(z, z)}); z = sum(leaves[:1]) + len(leaves)
z = pytree.tree_map(lambda leaf: leaf * 2, Growing(z, z)).right
z = z + self.box.left.sum() * self.box.n
vs.append(Counting(z, z + 1, k)); z = z + vs[-1].right
z = Point(z, None, k + 1).value()
row = Row(z, None, "row", [z]); z = z + row.length + len(row.rest)
z = pytree.tree_map_only(torch.Tensor, torch.sin, Row(z, None)).x"""
