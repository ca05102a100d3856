"""The steps of proofs in one list: shared steps once, premises before what rests on them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dynamo_lite.symbolic_shapes.certificates.elaborations import ELABORATIONS, Written
from dynamo_lite.symbolic_shapes.certificates.nodes import NodeTable
from dynamo_lite.symbolic_shapes.expressions.expr import Apply, Symbol
from dynamo_lite.symbolic_shapes.expressions.relations import FALSE, Bool, Rel
from dynamo_lite.symbolic_shapes.expressions.substitution import substitute
from dynamo_lite.symbolic_shapes.proofs.checker import BadCertificate, Certificate, Checker
from dynamo_lite.symbolic_shapes.proofs.proof import Step, walk
from dynamo_lite.symbolic_shapes.size_guards.derivations import Derivation, DerivationTable, under_a_max

Leaf = Callable[[Bool], Written]
"""The step that shows a relation which a proof may start from."""


class StepWriter:
    """`rows`: (rule, numbers of premises, data, claim)."""

    def __init__(self, nodes: NodeTable) -> None:
        self.rows: list[tuple[str, tuple[int, ...], tuple[Any, ...], Any]] = []
        self._nodes = nodes
        self._known: dict[tuple[Any, ...], int] = {}

    def write(self, rule: str, premises: Sequence[Written], data: tuple[Any, ...], claim: Any) -> Written:
        """The number of a step and what it shows; one that is there already is not written again."""
        row = (rule, tuple(number for number, _ in premises), data, claim)
        key = (*row[:2], tuple(map(_exactly, data)), claim)
        number = self._known.get(key)
        if number is None:
            number = self._known[key] = len(self.rows)
            self.rows.append(row)
            self._nodes.add((data, claim))
        return number, claim

    def of_certificate(self, certificate: Certificate, leaf: Leaf) -> Written:
        """The proof of a certificate, which is checked on the way."""
        checker = Checker({fact.index: fact.relation for fact in certificate.facts})
        done: dict[int, Written] = {}
        for step in walk(certificate.step):
            claim, _ = checker.check(step)
            premises = [done[id(premise)] for premise in step.premises]
            if step.rule == "fact" and isinstance(claim, Bool):
                done[id(step)] = leaf(claim)
            else:
                done[id(step)] = self._step(step, premises, claim)
        return self._as(certificate.conclusion, done[id(certificate.step)])

    def _step(self, step: Step, premises: list[Written], claim: Any) -> Written:
        elaborate = ELABORATIONS.get(step.rule)
        if elaborate is None:
            return self.write(step.rule, premises, step.data, claim)
        return elaborate(self.write, premises, step.data, claim)

    def _as(self, goal: Bool, shown: Written) -> Written:
        """From facts that contradict each other all follows."""
        if shown[1] is goal:
            return shown
        if shown[1] is not FALSE:
            raise BadCertificate(f"it shows {shown[1]}, not {goal}")
        return self.write("either", [shown], (goal,), goal)


class TableSteps:
    """The relations that follow from the base of a table of derivations, each written once."""

    def __init__(self, writer: StepWriter, table: DerivationTable, base: Leaf) -> None:
        self._writer, self._table, self._base = writer, table, base
        self._done: dict[Bool, Written] = {}

    def step(self, relation: Bool) -> int:
        """The number of the step that shows a relation."""
        done = self._done
        for goal, derivation in self._table.trace(relation, done):
            if derivation is None:
                done[goal] = self._base(goal)
            else:
                done[goal] = _DERIVATIONS[derivation.rule](self._writer, goal, derivation, done)
        return done[relation][0]


def _exactly(datum: Any) -> Any:
    """A key of a parameter: True is no 1."""
    return tuple(map(_exactly, datum)) if isinstance(datum, tuple) else (type(datum), datum)


# -- the rules of derivations between sets of guards ------------------------------------------------------------------
Done = Mapping[Bool, Written]


def _declared(writer: StepWriter, goal: Bool, step: Derivation, done: Done) -> Written:
    return writer.write("declared", (), step.data, goal)


def _conjunct(writer: StepWriter, goal: Bool, step: Derivation, done: Done) -> Written:
    return writer.write("part", [done[step.premises[0]]], (goal,), goal)


def _weaker(writer: StepWriter, goal: Bool, step: Derivation, done: Done) -> Written:
    (premise,) = step.premises
    assert isinstance(premise, Rel) and isinstance(goal, Rel)
    for sign in (1,) if premise.kind == "le" else (1, -1):
        slack = (premise.poly * sign - goal.poly).as_constant()
        if slack is not None and slack >= 0:
            return writer.write("linear", [done[premise]], ((sign,), slack), goal)
    raise BadCertificate(f"{goal} is not weaker than {premise}")


def _under_a_max(writer: StepWriter, goal: Bool, step: Derivation, done: Done) -> Written:
    (premise,) = step.premises
    assert isinstance(premise, Rel)
    place = under_a_max(premise).index(goal)
    for mono, k in premise.poly.terms.items():
        atom = mono[0]
        if len(mono) == 1 and isinstance(atom, Apply) and atom.op == "max" and k > 0:
            argument: Any = atom.args[place]
            above = writer.write("max above", (), (atom, argument), argument <= atom.as_int())
            return writer.write("linear", [done[premise], above], ((1, k), 0), goal)
    raise BadCertificate(f"{premise} has no maximum")


def _rewrite(writer: StepWriter, goal: Bool, step: Derivation, done: Done) -> Written:
    start, *equalities = step.premises
    mapping: dict[Any, Any] = dict(step.data)
    atoms, images = tuple(mapping), tuple(mapping.values())
    equations = [done[equality] for equality in equalities]
    changed = substitute(start, mapping)
    between = writer.write("rewritten", [*equations, done[start]], (atoms, images), changed)
    return writer.write("rewrite", [*equations, between], (goal, atoms, images), goal)


def _residues(writer: StepWriter, goal: Bool, step: Derivation, done: Done) -> Written:
    symbol, modulus = step.data
    assert isinstance(symbol, Symbol)
    return writer.write("residues", [done[premise] for premise in step.premises], (goal, symbol, modulus), goal)


def _decided(writer: StepWriter, goal: Bool, step: Derivation, done: Done) -> Written:
    return writer.of_certificate(step.data[0], done.__getitem__)


_DERIVATIONS: dict[str, Callable[[StepWriter, Bool, Derivation, Done], Written]] = {
    "declared": _declared,
    "conjunct": _conjunct,
    "weaker": _weaker,
    "under a max": _under_a_max,
    "rewrite": _rewrite,
    "residues": _residues,
    "decided": _decided,
}
