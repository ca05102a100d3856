"""The values of one size that the guards admit: an interval, and one residue class of it."""

from __future__ import annotations

from dataclasses import dataclass

from dynamo_lite.symbolic_shapes.expressions.expr import Extended, Int
from dynamo_lite.symbolic_shapes.expressions.relations import Bool, eq, ge, le
from dynamo_lite.symbolic_shapes.size_guards.guard_set import SizeGuardSet


@dataclass(frozen=True)
class AdmissibleValues:
    """The guards admit no value of `size` but those of [lo, hi] that are `r` modulo `m` (m is 1 if all may be).

    That follows from all the guards together: `x <= y` and `y <= 9` leave x no more than 9.
    """

    size: Int
    lo: Extended
    hi: Extended
    m: int
    r: int

    def first(self, start: Extended) -> Extended:
        """The least value of the residue class from `start` on."""
        return start + (self.r - start) % self.m if isinstance(start, int) else start

    def last(self, end: Extended) -> Extended:
        """The greatest value of the residue class up to `end`."""
        return end - (end - self.r) % self.m if isinstance(end, int) else end

    def lower_end(self) -> Bool:
        return ge(self.size, int(self.lo))

    def upper_end(self) -> Bool:
        return le(self.size, int(self.hi))

    def residue(self) -> Bool:
        return eq(self.size % self.m, self.r)


def reach_of(guards: SizeGuardSet, expr: Int) -> AdmissibleValues:
    """The values of an expression that the guards admit; in the kept symbols."""
    size = guards.size_of(expr)
    lo, hi = guards.range_of(size)
    m, r = guards.residue_of(size)
    return AdmissibleValues(size, lo, hi, m, r) if m > 1 else AdmissibleValues(size, lo, hi, 1, 0)
