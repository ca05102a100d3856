"""Findings of a run that the trace reports: lists that features fill and the engine reads.

Sizes that became numbers, branches on sizes, reads of dtypes. Without the features they are empty.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from dynamo_lite.symbolic_shapes import Origin
from dynamo_lite.symbolic_shapes.environment import ShapeEnv
from dynamo_lite.symbolic_shapes.expressions.relations import Bool, not_, or_
from dynamo_lite.symbolic_shapes.proofs import checker
from dynamo_lite.symbolic_shapes.proofs.checker import BadCertificate, Certificate
from dynamo_lite.tracing.interfaces import FeatureState, TracerView
from dynamo_lite.tracing.vocabulary.program_points import Mark
from dynamo_lite.tracing.vocabulary.symbolic_numbers import Specialization


@dataclass(frozen=True)
class Compared:
    """A branch on sizes that is not a guard: `condition` decided it, both sides compute the same values.

    Attributes:
        equalities: the facts used of each side, as (the condition of the side, a consequence of it).
        env: the facts of the program, which the equalities may depend on as well.
        in_words: a relation in terms of the inputs.
    """

    condition: str
    origin: Origin
    equalities: tuple[tuple[Bool, Bool], ...] = ()
    env: ShapeEnv | None = field(default=None, repr=False, compare=False)
    in_words: Callable[[Any], str] = field(default=str, repr=False, compare=False)

    def __str__(self) -> str:
        return ", ".join([self.condition, f"at {self.origin}", *self.reasons()])

    def reasons(self) -> list[str]:
        """Each equality in words."""
        return [f"{self.in_words(shown)} where {self.in_words(side)}" for side, shown in self.equalities]

    def relations(self) -> list[Bool]:
        """Each equality as one relation: that the condition of the side does not hold, or it does."""
        return [or_(not_(side), shown) for side, shown in self.equalities]

    def certificates(self) -> Iterator[Certificate]:
        """A proof of each equality from the facts of the program. BadCertificate if they do not prove it."""
        for relation in self.relations():
            answer = self.env.decide(relation) if self.env is not None else None
            certificate = answer.certificate if answer is not None and answer.verdict else None
            if certificate is None:
                raise BadCertificate(f"the facts of the program do not prove {relation}")
            yield certificate

    def verify(self) -> int:
        """Check the proofs again, without search; returns how many steps they have. Raises BadCertificate."""
        count = 0
        for certificate in self.certificates():
            checker.verify(certificate)
            count += len(certificate)
        return count


class SizeBranches(FeatureState):
    """The branches on sizes whose sides were compared.

    Attributes:
        rows: those that are not guards, by condition and line.
        left: the answers of the example that became guards, though a call may come that takes the other side.
    """

    stays = "it is what was found out about branches on sizes, on whichever side they are"

    def __init__(self, tracer: TracerView) -> None:
        self.rows: dict[tuple[str, str], Compared] = {}
        self.left: list[Bool] = []


class Specializations(FeatureState):
    """The numbers that the program needed of sizes, in order."""

    stays = "a number that one side needs is needed by the program"

    def __init__(self, tracer: TracerView) -> None:
        self.rows: list[Specialization] = []


class DtypeReads(FeatureState):
    """Where the program has read the dtype of a floating point tensor: the first place of each function.

    are_hidden: whether code has run whose reads of dtypes and of `training` are not seen.
    """

    stays = "the places are for notes, and hidden reads show less of the program"

    def __init__(self, tracer: TracerView) -> None:
        self._tracer = tracer
        self._seen: set[int] = set()
        self.marks: list[Mark] = []
        self.are_hidden = False

    def note(self) -> None:
        code = id(self._tracer.vm.frame.code) if self._tracer.vm.frame is not None else 0
        if code not in self._seen:
            self._seen.add(code)
            self.marks.append(self._tracer.mark())
