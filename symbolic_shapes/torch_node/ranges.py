"""Ranges between torch's form (sympy, int_oo) and ours."""

from __future__ import annotations

from typing import Any

import sympy

from dynamo_lite.symbolic_shapes.expressions.expr import INF, Extended, Int
from dynamo_lite.symbolic_shapes.expressions.relations import Bool, ge, le
from dynamo_lite.symbolic_shapes.torch_node._torch import ValueRanges, int_oo


def int_end(value: Any) -> Extended:
    """An end of a torch range as ours."""
    if value is None or value in (int_oo, sympy.oo):
        return INF
    return -INF if value in (-int_oo, -sympy.oo) else int(value)


def int_ranges(lo: Extended, hi: Extended) -> Any:
    """ValueRanges of integers."""
    return ValueRanges(-int_oo if lo == -INF else sympy.Integer(lo), int_oo if hi == INF else sympy.Integer(hi))


def range_relations(node: Int, lo: Extended, hi: Extended) -> list[Bool]:
    """lo <= node <= hi, without infinite bounds."""
    relations = []
    if lo != -INF:
        relations.append(ge(node, int(lo)))
    if hi != INF:
        relations.append(le(node, int(hi)))
    return relations
