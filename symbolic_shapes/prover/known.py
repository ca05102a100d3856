"""The known properties of an expression, and the protocol by which rules read them (tables.py keeps them)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from dynamo_lite.symbolic_shapes.expressions.expr import Atom, Int
from dynamo_lite.symbolic_shapes.expressions.intervals import Interval
from dynamo_lite.symbolic_shapes.expressions.relations import Bool
from dynamo_lite.symbolic_shapes.proofs.congruences import Residue
from dynamo_lite.symbolic_shapes.proofs.proof import Step


class Bound(NamedTuple):
    """`step` shows form <= value (an upper bound) or form >= value (a lower one)."""

    value: int
    step: Step


class KnownResidue(NamedTuple):
    """`step` shows form - r ≡ 0 (mod m)."""

    residue: Residue
    step: Step


class KnownFacts(Protocol):
    """The tables as rules see them: tables.Tables."""

    steps: int

    @property
    def version(self) -> int: ...
    @property
    def upper(self) -> Mapping[Int, Bound]: ...
    @property
    def lower(self) -> Mapping[Int, Bound]: ...
    @property
    def residues(self) -> Mapping[Int, KnownResidue]: ...
    @property
    def excluded(self) -> Mapping[Int, Mapping[int, Step]]: ...
    @property
    def truths(self) -> Mapping[Bool, Step]: ...
    @property
    def solved(self) -> Mapping[Atom, tuple[Int, Step]]: ...

    def range(self, atom: Atom) -> Interval: ...
    def bounds(self, p: Int) -> Interval: ...
    def bound_step(self, atom: Atom, side: str) -> Step | None: ...
    def bound_premises(self, node: Any) -> tuple[Step, ...]: ...
    def residue_of(self, p: Int) -> Residue: ...
    def residue_step(self, p: Int, m: int) -> Step: ...
    def quick(self, relation: Bool) -> tuple[bool, Step] | None: ...
