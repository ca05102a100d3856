"""Documents to verify: proofs of the reasoning's own tests, and sets of guards as traces leave them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from random import Random
from typing import Any

import torch
from torch.export import Dim
from torch.nn import functional as F

import dynamo_lite
from dynamo_lite.certificates import checker, floats
from dynamo_lite.symbolic_shapes import Bool, ContradictoryFacts, Origin, ShapeEnv, eq, ge, maximum, ne
from dynamo_lite.symbolic_shapes.certificates.document import Subject, digest, document
from dynamo_lite.symbolic_shapes.proofs.checker import Certificate
from dynamo_lite.symbolic_shapes.size_guards.derivations import DerivationTable
from dynamo_lite.symbolic_shapes.size_guards.guard_set import SizeGuardSet
from dynamo_lite.symbolic_shapes.size_guards.simplify import simplify
from tests.symbolic_shapes.test_tampering import certificates

floats.install(checker)
Document = dict[str, Any]
HERE = Origin("user line", "model.py", 1)
PROGRAMS: dict[str, Callable[..., list[Bool]]] = {
    "equal sizes": lambda a, b, c: [eq(a, b), ge(b, 4), eq(c, a + 2)],
    "multiples": lambda a, b, c: [eq(a % 4, 0), eq(a % 6, 0), ge(b, a)],
    "quotients": lambda a, b, c: [ge(a // 2, 3), eq(b, a // 3), ne(c, 0)],
    "a maximum": lambda a, b, c: [maximum(a, b) <= c, ge(c, 9)],
    "chains": lambda a, b, c: [a <= b, b <= c, c <= a],
    "remainders": lambda a, b, c: [eq(a % 2, c), b <= a, ne(b, 3), b <= c],
    "products": lambda a, b, c: [ge(a * b, 1), eq(a * c, 2 * a), ge(a, 1)],
    "replaced with ranges": lambda a, b, c: [eq(a, 2 * b + 1), eq(c, b - 3), b <= 40],
}


def read_back(found: Document) -> Document:
    """As another process reads it."""
    return json.loads(json.dumps(found))  # type: ignore[no-any-return]


def signed(found: Document) -> Document:
    """With the digest of what it says now: who changes a file can do that too."""
    return {**found, "digest": digest(found)}


def of_certificate(certificate: Certificate) -> Document:
    """One decision, from facts that hold."""
    facts = tuple(replace(fact, kind="axiom") for fact in certificate.facts)
    nothing = SizeGuardSet(facts, (), (), {}, DerivationTable([]), DerivationTable([]))
    return read_back(document(Subject(nothing, decisions=[certificate])))


def of_program(relations: Callable[..., list[Bool]], lowest: float) -> Document:
    """What a trace that records these facts leaves, with some decisions."""
    env = ShapeEnv()
    symbols = [env.unbacked(name=name, lo=lowest, hi=float("inf") if lowest else 100) for name in "abc"]
    for relation in relations(*symbols):
        env.assume(relation, HERE, "guard")
    asked = [ge(symbols[0], 0), ge(symbols[2] * symbols[2], 0), symbols[0] + 1 <= symbols[1] + 200]
    answers = [env.decide(question).certificate for question in asked]
    return read_back(document(Subject(simplify(env.facts), env.facts, [a for a in answers if a is not None])))


def of_trace(call: Callable[..., Any]) -> Document:
    """What a program of two sizes leaves, with floats and powers of them."""
    x = torch.ones(6, 9)
    spec = ({0: Dim("rows", min=2, max=10**6), 1: Dim("columns", min=3, max=10**6)},)
    return read_back(dynamo_lite.trace(call, (x,), dynamic_shapes=spec).certificates.document())


TRACED: dict[str, Callable[[torch.Tensor], Any]] = {
    "a rounded share": lambda x: (x.narrow(0, 0, int(x.shape[0] * 0.3)), x.narrow(0, 0, math.ceil(x.shape[0] / 3))),
    "a power of two": lambda x: F.pad(x, (0, 2 ** math.ceil(math.log2(x.shape[1])) - x.shape[1])),
    "a maximum in a dividend": lambda x: x.sum(1).narrow(0, (x.shape[0] - min(x.shape)) // 2, min(x.shape)),
    "a power": lambda x: x.new_zeros(2 ** (x.shape[0] - 2)) if 2 ** (x.shape[0] - 2) >= 1 else x,
}


@cache
def documents() -> tuple[Document, ...]:
    """All of them."""
    traced = map(of_trace, TRACED.values())
    programs = [of_program(relations, lowest) for relations in PROGRAMS.values() for lowest in (0, 1)]
    return (*traced, *map(of_certificate, certificates()), *programs)


def random_programs(count: int) -> Iterator[Document]:
    """Facts at random over three sizes."""
    rng = Random(7)
    made = 0
    while made < count:
        picked = rng.sample(list(PROGRAMS.values()), 2)
        order = rng.sample(range(3), 3)

        def relations(*symbols: Any, picked: Any = picked, order: Any = order) -> list[Bool]:
            return [*picked[0](*symbols), *picked[1](*(symbols[i] for i in order))]

        try:
            yield of_program(relations, rng.choice((0, 1)))
        except ContradictoryFacts:
            continue
        made += 1
