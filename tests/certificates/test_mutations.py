"""Files with one thing changed: rejected. With the digest of the changed file: rejected, or what it claims is true."""

from __future__ import annotations

import copy
import json
from collections import Counter
from collections.abc import Iterator
from itertools import product
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynamo_lite.certificates import checker, cross_check
from tests.certificates.documents import Document, documents, signed

GRAPH_BREAKS = (checker.Rejected, *checker.MALFORMED)
WORDS = ("lo", "hi", "le", "eq", "ne", "and", "or", "facts", "guards", "axioms", "floordiv", "max", *checker.RULES)
TEXTS = ("about", "text", "origin", "kind")
"""What is for people: no proof depends on it."""


def accepts(document: Document) -> bool:
    try:
        checker.verify(document)
    except GRAPH_BREAKS:
        return False
    return True


def is_true(document: Document) -> bool:
    """Whether no small values refute what a document claims."""
    try:
        cross_check.by_values(document)
    except AssertionError:
        return False
    return True


# -- places and changes -----------------------------------------------------------------------------------------------
Place = tuple[Any, ...]


def places(value: Any, here: Place = ()) -> Iterator[Place]:
    """Every place of a document, with the containers."""
    yield here
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield from places(value[key], (*here, key))


def at(document: Document, place: Place) -> Any:
    for key in place:
        document = document[key]
    return document


def changes(value: Any, rng: Random, siblings: list[Any]) -> Any:
    """Another value of the same sort."""
    if isinstance(value, bool) or value is None:
        return rng.choice([True, False, None, 0, 1])
    if isinstance(value, int):
        return rng.choice([value + 1, value - 1, -value, value * 2, 0, value + 7, 10**30])
    if isinstance(value, str):
        return rng.choice([*WORDS, f"#{rng.randrange(20)}", value + "x"])
    if isinstance(value, list) and value:
        i = rng.randrange(len(value))
        rest = value[:i] + value[i + 1 :]
        return rng.choice([rest, [*value, value[i]], [*rest, value[i]], value[::-1], []])
    return rng.choice(siblings) if siblings else [0]


def changed(document: Document, place: Place, rng: Random) -> Document:
    """A copy with the value at a place dropped, swapped with another, or changed."""
    found = copy.deepcopy(document)
    if not place:
        return {**found, "more": 1}
    *outer, key = place
    parent = at(found, tuple(outer))
    siblings = [v for v in (parent.values() if isinstance(parent, dict) else parent) if v != parent[key]]
    kind = rng.randrange(4)
    if kind == 0:
        del parent[key]
    elif kind == 1 and siblings:
        parent[key] = copy.deepcopy(rng.choice(siblings))
    else:
        parent[key] = changes(parent[key], rng, siblings)
    return found


def same(one: Document, other: Document) -> bool:
    """True is 1 in Python; in a file it is not."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


# -- every field, every step ------------------------------------------------------------------------------------------
SMALL = sorted(documents(), key=lambda d: len(json.dumps(d)))
SUBJECTS = [*SMALL[5:105:7], *(d for d in documents()[-16:] if 10 < len(d["steps"]) < 40)]


@pytest.mark.parametrize("part", range(3))
def test_a_changed_field_is_rejected(part: int) -> None:
    """Each place of each file: by the digest always, and by the proofs unless the claims are still true."""
    rng, fates = Random(part), Counter[str]()
    for document in SUBJECTS[part::3]:
        for place in places(document):
            mutant = changed(document, place, rng)
            if same(mutant, document):
                continue
            assert not accepts(mutant), place
            fates[fate(mutant, place)] += 1
    assert fates["rejected"] > 10 * fates["true"] > 0, fates


def fate(mutant: Document, place: Place) -> str:
    """A change that is signed: "rejected", "text" for one that people alone read, "true" for other true claims."""
    mutant = signed(mutant)
    if not accepts(mutant):
        return "rejected"
    if any(key in TEXTS for key in place) or place == () or place[-1] == "digest":
        return "text"
    assert is_true(mutant), place
    return "true"


def test_a_step_left_out_or_exchanged_is_rejected() -> None:
    rng = Random(0)
    for document in SUBJECTS:
        numbers = range(len(document["steps"]))
        exchanged = [(i, j) for i, j in product(numbers, repeat=2) if i < j]
        for i, j in [*zip(numbers, numbers), *rng.sample(exchanged, min(len(exchanged), 40))]:
            mutant = copy.deepcopy(document)
            if i == j:
                del mutant["steps"][i]
            else:
                mutant["steps"][i], mutant["steps"][j] = mutant["steps"][j], mutant["steps"][i]
            assert not accepts(mutant)
            mutant = signed(mutant)
            assert not accepts(mutant) or is_true(mutant), (i, j)


@given(st.integers(0, len(SUBJECTS) - 1), st.randoms(use_true_random=False), st.integers(1, 4))
@settings(max_examples=120)
def test_several_changes_at_random(number: int, rng: Random, count: int) -> None:
    document = mutant = SUBJECTS[number]
    for _ in range(count):
        mutant = changed(mutant, rng.choice(list(places(mutant))), rng)
    if not same(mutant, document):
        assert not accepts(mutant)
        mutant = signed(mutant)
        assert not accepts(mutant) or is_true(mutant)


# -- the rules themselves ---------------------------------------------------------------------------------------------
def holds(claim: Any, values: dict[Any, int]) -> bool | None:
    """Whether a claim holds at a point; None where it has no value."""
    try:
        if not isinstance(claim, tuple):  # no relation: FALSE shows anything
            return None
        if claim[0] == "mod":
            return bool(checker.evaluate(claim[1], values) % claim[2] == 0)
        return bool(checker.evaluate(claim, values))
    except (ArithmeticError, ValueError, KeyError):
        return None


def counterexample(given: list[Any], claim: Any, rng: Random) -> dict[Any, int] | None:
    symbols = sorted(checker.symbols_of((claim, *given)), key=lambda s: s.rank)
    axes = [
        [v for v in (-3, -2, -1, 0, 1, 2, 3, 4, 5, 7, 12) if s.args[2] <= v <= s.args[3]] or [s.args[2]]
        for s in symbols
    ]
    points = list(product(*axes)) if len(axes) < 4 else [tuple(map(rng.choice, axes)) for _ in range(400)]
    for point in points if len(points) < 400 else rng.sample(points, 400):
        values = dict(zip(symbols, point))
        if all(holds(premise, values) for premise in given) and holds(claim, values) is False:
            return values
    return None


def of_another(
    step: list[Any], rng: Random, nodes: dict[int, Any], steps: list[Any]
) -> tuple[str, list[Any], list[Any]]:
    """The rule, premises and data of a step with one of them changed."""
    rule, premises, data, _ = copy.deepcopy(step)
    kind = rng.randrange(4)
    if kind == 0:
        rule = rng.choice([*checker.RULES, "cases", "refute"])
    elif kind == 1 and premises:
        premises[rng.randrange(len(premises))] = rng.randrange(len(steps))
    elif kind == 2 and data:
        i = rng.randrange(len(data))
        data[i] = (
            f"#{rng.randrange(len(nodes))}"
            if isinstance(data[i], str) and data[i][0] == "#"
            else changes(data[i], rng, [])
        )
    else:
        premises = rng.choice([premises[1:], premises[::-1], [*premises, rng.randrange(len(steps))]])
    return rule, premises, data


@pytest.mark.parametrize("part", range(4))
def test_what_a_changed_step_shows_follows_from_its_premises(part: int) -> None:
    """Whatever the file says that the step shows."""
    rng, fates = Random(part), Counter[str]()
    for document in documents()[part::4]:
        nodes, given_, steps = checker.replay(document)
        for row in document["steps"]:
            if row[0] == "given":
                continue
            for _ in range(4):
                rule, premises, data = of_another(row, rng, nodes, steps)
                try:
                    of = [steps[i] for i in premises]
                    claim, assumed, _ = checker.applied(rule, of, _values(data, nodes), given_)
                except GRAPH_BREAKS:
                    fates["refused"] += 1
                    continue
                fates["follows"] += 1
                hypotheses = [*assumed, *(r for rows in given_.values() for r in rows.values())]
                assert counterexample(hypotheses, claim, rng) is None, (rule, premises, data)
    assert fates["refused"] > fates["follows"] > 100, fates


def _values(data: Any, nodes: dict[int, Any]) -> Any:
    if isinstance(data, list):
        return [_values(part, nodes) for part in data]
    return nodes[int(data[1:])] if isinstance(data, str) and data[:1] == "#" else data
