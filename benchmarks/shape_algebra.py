"""Families of questions about the algebra of sizes: quotients, sums, min/max, choices, propositions, strides."""

from __future__ import annotations

import math
import random

from benchmarks.shape_terms import (
    ANY,
    DYNAMIC,
    POSITIVE,
    SIZE,
    Goals,
    Query,
    Term,
    add,
    divides,
    names_in,
    of,
    sub,
    times,
    up,
)


def nested(rng: random.Random) -> Query:
    """Floor divisions of floor divisions, their remainders, and chains of remainders."""
    a, b, c = (rng.choice([2, 3, 4, 6, 8, 16]) for _ in range(3))
    n = rng.choice(["n", add("n", rng.randint(-3, 5)), times(rng.choice([2, 3, 4]), "n")])
    goals: Goals = [
        ([], ("==", ("//", ("//", n, a), b), ("//", n, a * b))), ([], ("==", ("%", ("%", n, a * b), a), ("%", n, a))),
        ([], ("<", ("%", n, a), a)), ([], ("==", ("%", times(n, a), a * b), times(a, ("%", n, b)))),
        ([], ("==", ("%", add(n, a * c), a), ("%", n, a))), ([], ("==", ("//", times(n, a), a * b), ("//", n, b))),
        ([], ("==", add(times(("//", n, a), a), ("%", n, a)), n)), ([], ("==", ("%", n, a), ("%", n, b))),
        ([divides(a * b, n)], divides(a, ("//", n, b))), ([divides(a * b, n)], ("==", times(("//", n, a), a), n)),
        ([("==", ("%", n, a * b), c % (a * b))], ("==", ("%", n, a), c % a)),
        ([divides(a, n), divides(b, n)], divides(math.lcm(a, b), n)), ([divides(a, n)], divides(b, n)),
        ([], ("==", ("//", add(("//", n, a), c), b), ("//", add(n, a * c), a * b))),
        ([], ("<=", ("//", ("//", n, a), b), ("//", n, b))),
        ([("==", ("%", n, a), c % a)], ("==", ("%", times(n, b), a), (c * b) % a)),
        ([], ("==", ("%", ("%", add(n, c), a), a), ("%", add(n, c), a))),
        ([("==", ("%", "n", a), 1), ("==", ("%", "m", a), 1)], divides(a, sub("n", "m"))),
        ([divides(a, "n")], ("==", ("//", add("n", "m"), a), add(("//", "n", a), ("//", "m", a)))),
        ([], ("==", ("//", add("n", "m"), a), add(("//", "n", a), ("//", "m", a)))),
        ([], (">=", ("//", add("n", "m"), a), add(("//", "n", a), ("//", "m", a)))),
        ([("<=", "n", "m")], ("<=", ("//", "n", a), ("//", "m", a))),
        ([("<", "n", "m")], ("<", ("//", "n", a), ("//", "m", a))),
        ([("<=", add("n", a), "m")], ("<", ("//", "n", a), ("//", "m", a))),
    ]
    facts, goal = rng.choice(goals)
    ranges = of(rng, "nm", SIZE, POSITIVE, ANY)
    return Query(facts, goal, {n: ranges[n] for n in "nm" if n in names_in([*facts, goal])})


def sums(rng: random.Random) -> Query:
    """Run-time sizes that add up to a known one: split_with_sizes, expert counts, masks."""
    total = rng.choice([10, 20, 64, "n"])
    low = rng.randint(0, 3)
    parts = "uvw"
    facts: list[Term] = [("==", add(*parts), total)]
    goals: Goals = [
        ([], ("<=", "u", total)), ([], ("<=", add("u", "v"), total)),
        ([(">=", "v", low)], ("<=", "u", sub(total, low))), ([(">=", "u", low)], (">=", sub(total, "w"), low)),
        ([("==", "u", "v")], ("<=", times(2, "u"), total)),
        ([("==", "u", "v"), ("==", "v", "w")], ("==", times(3, "u"), total)),
        ([("==", "u", "v"), ("==", "v", "w")], divides(3, total)), ([], ("==", sub(total, "u"), add("v", "w"))),
        ([], (">=", ("max", ("max", "u", "v"), "w"), ("//", total, 3))),
        ([("==", "w", 0)], ("==", add("u", "v"), total)),
        ([("<=", "u", 3), ("<=", "v", 3)], (">=", "w", sub(total, 6))), ([("<=", "u", 3)], (">=", "w", sub(total, 6))),
        ([(">", "u", "v")], (">", "u", "w")), ([("<=", "u", "v"), ("<=", "v", "w")], ("<=", times(3, "u"), total)),
        ([("<=", "u", "v"), ("<=", "v", "w")], (">=", times(3, "w"), total)),
        ([divides(4, "u"), divides(4, "v"), divides(4, "w")], divides(4, total)),
        ([divides(2, "u"), divides(2, "v"), divides(2, total)], divides(2, "w")), ([], ("!=", "u", add(total, 1))),
        ([("==", "u", total)], ("==", "v", 0)), ([], ("<=", ("min", ("min", "u", "v"), "w"), ("//", total, 3))),
    ]
    more, goal = rng.choice(goals)
    names = [n for n in "uvwn" if n in names_in([*facts, *more, goal])]
    ends = SIZE if rng.random() < 0.7 else (0, rng.choice([8, 12]))
    return Query([*facts, *more], goal, dict.fromkeys(names, ends))


def lattices(rng: random.Random) -> Query:
    """min and max inside of each other."""
    k, c = rng.choice([2, 3, 8]), rng.randint(0, 9)

    def tree(depth: int) -> Term:
        if depth == 0:
            return rng.choice(["a", "b", "c", "a", "b", c])
        return (rng.choice(["min", "max"]), tree(depth - 1), tree(depth - 1))

    x = tree(2)
    goals: Goals = [
        ([], ("==", ("min", "a", ("max", "a", "b")), "a")),
        ([], ("==", ("max", ("min", "a", "b"), ("min", "a", "c")), ("min", "a", ("max", "b", "c")))),
        ([], ("<=", ("min", "a", "b"), ("max", "b", "c"))),
        ([], ("==", ("+", ("min", "a", "b"), ("max", "a", "b")), ("+", "a", "b"))),
        ([], ("<=", x, ("max", ("max", "a", "b"), ("max", "c", c)))),
        ([("<=", "a", "b"), ("<=", "b", "c")], ("==", ("max", "a", ("max", "b", "c")), "c")),
        ([("<=", "a", c), ("<=", "b", c), ("<=", "c", c)], ("<=", x, c)),
        ([("<=", "a", "b")], ("==", ("min", ("min", "a", "b"), "c"), ("min", "a", "c"))),
        ([], ("==", ("max", times(k, "a"), times(k, "b")), times(k, ("max", "a", "b")))),
        ([], ("==", ("//", ("max", times(k, "a"), times(k, "b")), k), ("max", "a", "b"))),
        ([], (">=", x, ("min", ("min", "a", "b"), ("min", "c", c)))),
        ([], ("==", ("max", add("a", c), add("b", c)), add(c, ("max", "a", "b")))),
        ([("<=", "a", "b")], ("<=", ("max", "a", "c"), ("max", "b", "c"))),
        ([("<=", "a", "b")], ("<=", ("min", "a", "c"), ("min", "b", "c"))),
        ([("==", ("max", "a", "b"), "a")], ("<=", "b", "a")), ([("<", ("max", "a", "b"), "c")], ("<", "a", "c")),
        ([(">=", ("min", "a", "b"), c)], (">=", "a", c)), ([], ("==", x, tree(2))), ([], ("<=", x, tree(1))),
        ([("!=", "a", "b")], (">", ("max", "a", "b"), ("min", "a", "b"))),
        ([], ("==", ("max", ("//", "a", k), ("//", "b", k)), ("//", ("max", "a", "b"), k))),
    ]
    facts, goal = rng.choice(goals)
    ranges = of(rng, "abc", SIZE, ANY)
    return Query(facts, goal, {n: ranges[n] for n in "abc" if n in names_in([*facts, goal])})


def choices(rng: random.Random) -> Query:
    """abs, if-then-else and powers."""
    k, c = rng.choice([2, 3, 4]), rng.randint(1, 6)
    pick = ("ite", ("<", "a", "b"), "a", "b")
    goals: Goals = [
        ([], ("==", ("abs", sub("a", "b")), ("abs", sub("b", "a")))),
        ([], ("<=", ("abs", add("a", "b")), add(("abs", "a"), ("abs", "b")))), ([], (">=", ("abs", "a"), "a")),
        ([("!=", "a", "b")], (">=", ("abs", sub("a", "b")), 1)),
        ([("<=", "a", "b")], ("==", ("abs", sub("a", "b")), sub("b", "a"))), ([], ("==", pick, ("min", "a", "b"))),
        ([], ("<=", pick, "a")), ([], (">=", ("pow", "a", 2), 0)), ([], (">=", ("pow", "a", 2), "a")),
        ([], ("==", ("abs", times(k, "a")), times(k, ("abs", "a")))), ([("<=", ("abs", "a"), c)], ("<=", "a", c)),
        ([("<=", ("abs", "a"), c)], (">=", "a", -c)), ([("==", "a", "b")], ("==", ("ite", ("==", "a", "b"), c, k), c)),
        ([], (">=", ("ite", (">", "a", c), "a", c), c)),
        ([], ("==", ("ite", divides(k, "a"), ("//", "a", k), ("//", "a", k)), ("//", "a", k))),
        ([], ("<=", ("ite", divides(k, "a"), ("//", "a", k), add(("//", "a", k), 1)), up("a", k))),
        ([], ("==", ("ite", divides(k, "a"), ("//", "a", k), add(("//", "a", k), 1)), up("a", k))),
        ([(">", "a", c)], ("==", ("ite", ("<=", "a", c), "b", "a"), "a")),
        ([], ("==", ("abs", ("abs", "a")), ("abs", "a"))), ([], ("<=", ("%", "a", k), ("abs", "a"))),
        ([], ("==", ("pow", add("a", 1), 2), add(("pow", "a", 2), times(2, "a"), 1))),
        ([("==", ("abs", "a"), ("abs", "b"))], ("==", ("pow", "a", 2), ("pow", "b", 2))),
    ]
    facts, goal = rng.choice(goals)
    ranges = of(rng, "ab", SIZE, ANY, ANY)
    return Query(facts, goal, {n: ranges[n] for n in "ab" if n in names_in([*facts, goal])})


def propositions(rng: random.Random) -> Query:
    """Nests of and, or, not over comparisons of sizes, as facts and as questions."""
    def atom() -> Term:
        left, right = rng.choice(["a", "b", "c"]), rng.choice(["a", "b", "c", rng.randint(0, 6), rng.randint(0, 6)])
        return (rng.choice(["<", "<=", "==", "!=", ">", ">="]), left, right if right != left else 3)

    def nest(depth: int) -> Term:
        if depth == 0 or rng.random() < 0.2:
            return atom()
        if rng.random() < 0.25:
            return ("not", nest(depth - 1))
        return (rng.choice(["and", "or"]), nest(depth - 1), nest(depth - 1))

    fact, other = nest(2), nest(1)
    goals: Goals = [
        ([fact], ("or", fact, other)), ([fact], ("not", ("and", ("not", fact), other))),
        ([fact, other], ("and", fact, other)), ([("or", fact, other), ("not", other)], fact), ([fact], other),
        ([fact, other], nest(1)), ([], ("or", fact, ("not", fact))), ([("and", fact, other)], other),
        ([("or", ("<=", "a", 2), (">=", "a", 5))], ("!=", "a", 3)),
        ([("or", ("==", "a", 1), ("==", "a", "b"))], ("or", ("<=", "a", 1), ("<=", "a", "b"))),
        ([("or", ("==", "a", 1), ("==", "a", "b")), (">", "a", 1)], ("==", "a", "b")),
        ([("not", ("or", ("<", "a", "b"), ("<", "b", "c")))], (">=", "a", "c")),
        ([("or", ("==", "a", "b"), ("==", "b", 1)), ("!=", "a", "b")], ("==", "b", 1)),
    ]
    facts, goal = rng.choice(goals)
    ranges = of(rng, "abc", SIZE, ANY)
    return Query(facts, goal, {n: ranges[n] for n in "abc" if n in names_in([*facts, goal])})


def strides(rng: random.Random) -> Query:
    """Contiguity and strides: is this dense, may this be broadcast, is there anything in it."""
    k = rng.choice([2, 3, 8])
    numel = times("a", "b", "c")
    last = add(times(sub("a", 1), times("b", "c")), times(sub("b", 1), "c"), sub("c", 1))  # the greatest offset
    goals: Goals = [
        ([], (">=", times("b", "c"), "c")), ([], (">=", times("a", "b", "c"), times("b", "c"))),
        ([], ("or", ("==", "a", 1), ("==", times("b", "c"), times("c", "b")))), ([], ("==", numel, 0)),
        ([(">=", "a", 1), (">=", "b", 1), (">=", "c", 1)], ("!=", numel, 0)), ([("==", "a", 0)], ("==", numel, 0)),
        ([("!=", numel, 0)], ("!=", "a", 0)), ([("==", "a", "b")], ("or", ("==", "a", 1), ("==", "a", "b"))),
        ([("or", ("==", "a", 1), ("==", "a", "b")), ("!=", "a", 1)], ("==", "a", "b")),
        ([], ("==", ("max", times("b", "c"), "c"), times("b", "c"))),
        ([], (">=", times(("max", 1, "a"), ("max", 1, "b")), 1)), ([], ("<=", "c", times(("max", 1, "b"), "c"))),
        ([("==", times("a", "b"), "b"), (">=", "b", 1)], ("==", "a", 1)),
        ([], ("==", ("ite", ("==", "a", 1), "b", times("a", "b")), times("a", "b"))),
        ([("<=", "a", "b"), (">=", "c", 0)], ("<=", times("a", "c"), times("b", "c"))),
        ([(">", "a", "b"), (">", "c", 0)], (">", times("a", "c"), times("b", "c"))),
        ([], (">=", last, 0)),
        ([], ("<", last, numel)),
        ([], ("==", add(last, 1), numel)),
        ([], (">=", times(k, "a", "b"), times(k, "a"))),
        ([("==", times(k, "a"), times(k, "b"))], ("==", times("a", "c"), times("b", "c"))),
        ([], ("<=", ("max", "a", "b"), times("a", "b"))),
    ]
    facts, goal = rng.choice(goals)
    ranges = of(rng, "abc", POSITIVE, DYNAMIC, SIZE if rng.random() < 0.4 else POSITIVE)
    return Query(facts, goal, {n: ranges[n] for n in "abc" if n in names_in([*facts, goal])})
