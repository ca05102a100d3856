"""What must be decided, query by query; every proof is re-checked by the checker."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Callable

import pytest

from dynamo_lite.symbolic_shapes import (
    Answer,
    Bool,
    ContradictoryFacts,
    Origin,
    ShapeEnv,
    Symbol,
    bool_to_int,
    ceildiv,
    eq,
    int_truediv,
    ite,
    maximum,
    minimum,
    ne,
    or_,
    round_float,
    round_int,
    to_float,
)
from dynamo_lite.symbolic_shapes.proofs.checker import verify
from tests.symbolic_shapes.z3_oracle import entails

from ..webassembly import needs_processes

HERE = Origin("user line", "model.py", 1)


def decided(env: ShapeEnv, relation: Bool) -> bool | None:
    """The verdict, its certificate re-checked."""
    answer: Answer = env.decide(relation)
    if answer.certificate is not None:
        verify(answer.certificate)
    return answer.verdict


class Case:
    """Unbacked symbols a, b, c, d (ranges by keyword), facts, a question and its answer."""

    def __init__(self, facts: Callable[..., list[Bool]], question: Callable[..., Bool], answer: bool | None,
                 **ranges: tuple[float, float]) -> None:
        self.facts, self.question, self.answer, self.ranges = facts, question, answer, ranges

    def run(self) -> bool | None:
        env = ShapeEnv()
        symbols = [env.unbacked(name=n, lo=lo, hi=hi) for n in "abcd"
                   for lo, hi in [self.ranges.get(n, (-math.inf, math.inf))]]
        for fact in self.facts(*symbols):
            env.assume(fact, HERE)
        return decided(env, self.question(*symbols))


POSITIVE = dict.fromkeys("abcd", (1, math.inf))
SIZES = dict.fromkeys("abcd", (0, math.inf))

CASES: dict[str, Case] = {
    "transitive <=": Case(lambda a, b, c, d: [a <= b, b <= c], lambda a, b, c, d: a <= c, True),
    "transitive < gives !=": Case(lambda a, b, c, d: [a < b, b < c], lambda a, b, c, d: eq(a, c), False),
    "a chain with constants": Case(
        lambda a, b, c, d: [a <= b - 2, b <= c - 3, c <= d + 1], lambda a, b, c, d: a <= d - 4, True),
    "a chain is not stronger than it is": Case(
        lambda a, b, c, d: [a <= b - 2, b <= c - 3, c <= d + 1], lambda a, b, c, d: a <= d - 5, None),
    "max against a bound": Case(lambda a, b, c, d: [a <= 5, b <= 7], lambda a, b, c, d: maximum(a, b) <= 7, True),
    "min below both": Case(lambda a, b, c, d: [], lambda a, b, c, d: minimum(a, b) <= a, True),
    "min and max are the two": Case(
        lambda a, b, c, d: [], lambda a, b, c, d: eq(maximum(a, b) + minimum(a, b), a + b), True),
    "above a max's argument, so the max is the other": Case(
        lambda a, b, c, d: [maximum(a, b) > a], lambda a, b, c, d: a <= b, True),
    "scaled max": Case(lambda a, b, c, d: [], lambda a, b, c, d: eq(maximum(4 * a, 4 * b), 4 * maximum(a, b)), True),
    "scaled min is even": Case(lambda a, b, c, d: [], lambda a, b, c, d: eq(minimum(2 * a, 6 * b) % 2, 0), True),
    "max that is decided": Case(lambda a, b, c, d: [a <= b], lambda a, b, c, d: eq(maximum(a, b) // 2, b // 2), True),
    "the part that 8 divides": Case(lambda a, b, c, d: [], lambda a, b, c, d: a - a % 8 >= 0, True, a=(0, math.inf)),
    "the part that 8 divides, below": Case(lambda a, b, c, d: [], lambda a, b, c, d: a - a % 8 <= a, True),
    "a remainder's range": Case(lambda a, b, c, d: [], lambda a, b, c, d: (a % 8 >= 0) & (a % 8 <= 7), True),
    "a remainder by a negative number": Case(
        lambda a, b, c, d: [], lambda a, b, c, d: (a % -3 <= 0) & (a % -3 >= -2), True),
    "a remainder by a positive symbol": Case(
        lambda a, b, c, d: [], lambda a, b, c, d: a % b < b, True, b=(1, math.inf)),
    "6 divides, so 2 does": Case(lambda a, b, c, d: [eq(a % 6, 0)], lambda a, b, c, d: eq(a % 2, 0), True),
    "6 divides, so 3a+1 is odd or not": Case(
        lambda a, b, c, d: [eq(a % 6, 0)], lambda a, b, c, d: eq((3 * a + 1) % 2, 1), True),
    "2 divides, 6 need not": Case(lambda a, b, c, d: [eq(a % 2, 0)], lambda a, b, c, d: eq(a % 6, 0), None),
    "a remainder refutes": Case(lambda a, b, c, d: [eq(a % 6, 3)], lambda a, b, c, d: eq(a % 2, 0), False),
    "two divisors, their product": Case(
        lambda a, b, c, d: [eq(a % 2, 0), eq(a % 3, 0)], lambda a, b, c, d: eq(a % 6, 0), True),
    "a product of multiples": Case(
        lambda a, b, c, d: [eq(a % 4, 0), eq(b % 3, 0)], lambda a, b, c, d: eq((a * b) % 12, 0), True),
    "a sum of multiples": Case(
        lambda a, b, c, d: [eq((a + b) % 4, 0), eq(b % 4, 0)], lambda a, b, c, d: eq(a % 4, 0), True),
    "an odd number is not 4": Case(lambda a, b, c, d: [eq(a % 2, 1)], lambda a, b, c, d: eq(a, 4), False),
    "a multiple of 8 above 0 is 8 or more": Case(
        lambda a, b, c, d: [eq(a % 8, 0), a > 0], lambda a, b, c, d: a >= 8, True),
    "a sum of two": Case(lambda a, b, c, d: [eq(a + b, 20)], lambda a, b, c, d: a <= 20, True, **SIZES),
    "a sum of two, with a range": Case(
        lambda a, b, c, d: [eq(a + b, 20), a >= 5], lambda a, b, c, d: b <= 15, True, **SIZES),
    "a sum of two, refuted": Case(
        lambda a, b, c, d: [eq(a + b, 20), a >= 15], lambda a, b, c, d: b >= 6, False, **SIZES),
    "equal, so the quotient is 1": Case(
        lambda a, b, c, d: [eq(a, b), ne(b, 0)], lambda a, b, c, d: eq(a // b, 1), True),
    "equal, but perhaps zero": Case(lambda a, b, c, d: [eq(a, b)], lambda a, b, c, d: eq(a // b, 1), None),
    "equal and positive": Case(lambda a, b, c, d: [eq(a, b)], lambda a, b, c, d: eq(a // b, 1), True, **POSITIVE),
    "a product divided by a factor": Case(
        lambda a, b, c, d: [ne(b, 0)], lambda a, b, c, d: eq((a * b) // b, a), True),
    "an equality of three": Case(
        lambda a, b, c, d: [eq(a, b + 2), eq(b, c + 3)], lambda a, b, c, d: eq(a - c, 5), True),
    "an equality with a product": Case(
        lambda a, b, c, d: [eq(a * b, c)], lambda a, b, c, d: eq(c // b, a), True, **POSITIVE),
    "cross-multiplied": Case(
        lambda a, b, c, d: [2 * a <= 3 * b, 3 * b <= 2 * c], lambda a, b, c, d: a <= c, True),
    "gcd-tightened": Case(lambda a, b, c, d: [2 * a >= 3, 2 * a <= 5], lambda a, b, c, d: eq(a, 2), True),
    "gcd-tightened equation": Case(lambda a, b, c, d: [], lambda a, b, c, d: eq(6 * a + 9 * b, 4), False),
    "elimination": Case(
        lambda a, b, c, d: [a + b <= 10, a - b <= 2, c <= a], lambda a, b, c, d: c <= 6, True),
    "integers only": Case(
        lambda a, b, c, d: [3 * a - 2 * b >= 1, 3 * a - 2 * b <= 1, 2 * b <= 9], lambda a, b, c, d: a <= 3, True),
    "products of positive symbols": Case(lambda a, b, c, d: [], lambda a, b, c, d: a * b >= a, True, **POSITIVE),
    "products of three": Case(lambda a, b, c, d: [], lambda a, b, c, d: a * b * c >= b, True, **POSITIVE),
    "a product of two at least 2 is not a factor": Case(
        lambda a, b, c, d: [], lambda a, b, c, d: eq(a * b, a), False, a=(2, math.inf), b=(2, math.inf)),
    "monotone product": Case(
        lambda a, b, c, d: [a <= b], lambda a, b, c, d: a * c <= b * c, True, **SIZES),
    "a square is not negative": Case(lambda a, b, c, d: [], lambda a, b, c, d: a * a >= 0, True),
    "padding covers": Case(lambda a, b, c, d: [], lambda a, b, c, d: ((a + 7) // 8) * 8 >= a, True),
    "padding is little": Case(lambda a, b, c, d: [], lambda a, b, c, d: ((a + 7) // 8) * 8 <= a + 7, True),
    "ceildiv is padding": Case(lambda a, b, c, d: [], lambda a, b, c, d: eq(ceildiv(a, 8), (a + 7) // 8), True),
    "ceildiv by a symbol": Case(
        lambda a, b, c, d: [], lambda a, b, c, d: ceildiv(a, b) * b >= a, True, b=(1, math.inf)),
    "halves of a whole": Case(lambda a, b, c, d: [], lambda a, b, c, d: eq(a // 2 + ceildiv(a, 2), a), True),
    "a quotient is smaller": Case(
        lambda a, b, c, d: [], lambda a, b, c, d: a // b <= a, True, a=(0, math.inf), b=(1, math.inf)),
    "a choice": Case(lambda a, b, c, d: [a <= 3], lambda a, b, c, d: eq(ite(a <= 4, b, c), b), True),
    "a choice between two positives": Case(
        lambda a, b, c, d: [], lambda a, b, c, d: ite(a <= b, c, d) >= 1, True, c=(1, 5), d=(1, 9)),
    "an alternative that one case settles": Case(
        lambda a, b, c, d: [or_(a <= 2, a >= 9), a >= 5], lambda a, b, c, d: a >= 9, True),
    "both cases agree": Case(
        lambda a, b, c, d: [or_(eq(a, 3), eq(a, 5))], lambda a, b, c, d: (a >= 3) & (a <= 5), True),
    "apart and bounded": Case(lambda a, b, c, d: [ne(a, 0)], lambda a, b, c, d: a >= 1, True, a=(0, math.inf)),
    "abs is 1 or more apart from zero": Case(lambda a, b, c, d: [ne(a, 0)], lambda a, b, c, d: abs(a) >= 1, True),
    "big integers": Case(
        lambda a, b, c, d: [a >= 2**70], lambda a, b, c, d: a * 3 + 1 >= 3 * 2**70 + 1, True),
    "big integers are exact": Case(
        lambda a, b, c, d: [a >= 2**70 + 1], lambda a, b, c, d: eq(a, 2**70), False),
    "rounding to tens": Case(lambda a, b, c, d: [eq(a, 25)], lambda a, b, c, d: eq(round_int(a, -1), 20), True),
    "truth as a number": Case(lambda a, b, c, d: [], lambda a, b, c, d: bool_to_int(a <= b) <= 1, True),
    "floor of a true division": Case(
        lambda a, b, c, d: [], lambda a, b, c, d: eq(round_float("floor", int_truediv(a, 2)), a // 2),
        True, a=(0, 2**40)),
    "floor of a true division of anything": Case(
        lambda a, b, c, d: [], lambda a, b, c, d: eq(round_float("floor", int_truediv(a, 3)), a // 3), None),
    "trunc rounds to zero": Case(
        lambda a, b, c, d: [], lambda a, b, c, d: eq(round_float("trunc", int_truediv(a, 2)), 0), True, a=(-1, 1)),
    "a float in range": Case(
        lambda a, b, c, d: [], lambda a, b, c, d: eq(round_float("round", to_float(a)), a), True, a=(0, 2**53)),
}


@pytest.mark.parametrize("name", CASES)
def test_must_be_decided(name: str) -> None:
    case = CASES[name]
    assert case.run() is case.answer


CONTRADICTIONS: dict[str, tuple[Callable[..., list[Bool]], list[int]]] = {
    "disjoint ranges": (lambda a, b, c: [a <= 3, b <= 9, a >= 4], [0]),
    "a cycle of <": (lambda a, b, c: [a < b, b < c, c < a], [0, 1]),
    "two remainders": (lambda a, b, c: [eq(a % 4, 1), b >= 0, eq(a % 2, 0)], [0]),
    "equal and apart": (lambda a, b, c: [eq(a, b), c >= 0, ne(a, b)], [0]),
    "three equations": (lambda a, b, c: [eq(a + b, 10), eq(a - b, 2), eq(a, 7)], [0, 1]),
}
"""Facts of which the last clashes with those at the given positions (and with no other)."""


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_a_contradiction_names_the_facts_that_clash(name: str) -> None:
    env = ShapeEnv()
    build, clashing = CONTRADICTIONS[name]
    *facts, last = build(*(env.unbacked() for _ in range(3)))
    for fact in facts:
        env.assume(fact, HERE)
    before = list(env.facts)
    with pytest.raises(ContradictoryFacts) as info:
        env.assume(last, HERE)
    assert [f.relation for f in info.value.facts] == [facts[i] for i in clashing]
    assert env.facts == before, "a contradiction is not recorded"


def test_answers_name_the_facts_they_rest_on() -> None:
    env = ShapeEnv()
    a, b, c = (env.unbacked() for _ in range(3))
    env.assume(a <= b, Origin("user line", "model.py", 1))
    env.assume(c <= 100, Origin("user line", "model.py", 2))
    env.assume(b <= 7, Origin("user line", "model.py", 3))
    assert [f.origin.line for f in env.decide(a <= 7).facts] == [1, 3]


def test_symbols_with_one_name_are_two_symbols() -> None:
    x, y = Symbol("n").as_int(), Symbol("n").as_int()
    assert x is not y and eq(x, y) is not eq(x, x)


def test_what_no_rung_proves_is_left_open() -> None:
    pytest.importorskip("z3")
    env = ShapeEnv()
    x, y = env.unbacked(), env.unbacked()
    answer = env.decide(x * x + y * y >= 2 * x * y)
    assert (answer.verdict, answer.rung) == (None, "none")
    assert entails([], answer.relation) is True


@needs_processes
def test_the_package_needs_no_torch() -> None:
    code = "import sys, dynamo_lite.symbolic_shapes; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
