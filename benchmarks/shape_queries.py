"""Questions that shape programs ask, by family: each generator makes one at random.

A generator draws constants and a question that holds, nearly holds (an off-by-one, a lost premise) or does not: what
is true of it is for enumeration or z3 to say, not for the generator.
"""

from __future__ import annotations

import random

from benchmarks.shape_algebra import choices, lattices, nested, propositions, strides, sums
from benchmarks.shape_terms import (
    ANY,
    DYNAMIC,
    POSITIVE,
    SIZE,
    Comparisons,
    Generator,
    Goals,
    Query,
    add,
    clamp,
    divides,
    names_in,
    of,
    sub,
    times,
    up,
)


def convolution(rng: random.Random) -> Query:
    """Output sizes of convolutions and poolings: padding, dilation, stride, stacked layers, transposed, ceil_mode."""
    k, d = rng.choice([1, 2, 3, 5, 7]), rng.choice([1, 1, 2, 3])
    s, p = rng.choice([1, 2, 3, 4]), rng.choice([0, 1, 2, 3])
    reach = d * (k - 1) + 1
    room = add("n", 2 * p - reach)
    out = add(("//", room, s), 1)
    least = max(1, reach - 2 * p)
    enough = (">=", "n", least)
    transposed = add(times(sub(out, 1), s), reach - 2 * p)
    ceiled = add(up(room, s), 1)
    clipped = ("ite", (">=", times(sub(ceiled, 1), s), add("n", p)), sub(ceiled, 1), ceiled)
    stacked = add(("//", add(out, 2 * p - reach), s), 1)
    goals: Goals = [
        ([enough], (">=", out, 1)), ([], (">=", out, 1)),
        ([enough], ("<=", add(times(sub(out, 1), s), reach), add("n", 2 * p))), ([], ("<=", transposed, "n")),
        ([], ("==", transposed, "n")), ([divides(s, room)], ("==", transposed, "n")),
        ([], (">", add(transposed, s - 1), sub("n", 1))), ([enough], (">=", ceiled, out)),
        ([enough], (">=", clipped, 1)), ([enough], ("<=", clipped, ceiled)), ([], ("<=", sub(ceiled, out), 1)),
        ([enough], ("<=", out, add("n", 2 * p))),
        ([(">=", "n", least + s * rng.randint(0, 3))], (">=", out, rng.randint(1, 4))),
        ([("==", "m", "n")], ("==", out, ("+", ("//", add("m", 2 * p - reach), s), 1))),
        ([enough, ("<=", "n", "m")], ("<=", out, add(("//", add("m", 2 * p - reach), s), 1))),
        ([(">=", "n", reach + s * reach)], (">=", stacked, 1)), ([], ("<=", stacked, add(("//", "n", s), 2 * p + 2))),
        ([], ("==", add(("//", add(out, -1), 2), 1), add(("//", room, 2 * s), 1))),
    ]
    facts, goal = rng.choice(goals)
    return Query(facts, goal, of(rng, "nm" if "m" in str(facts) else "n", SIZE, POSITIVE, DYNAMIC))


def padding(rng: random.Random) -> Query:
    """Padding to a multiple, and what undoes it."""
    m = rng.choice([2, 3, 4, 8, 16, 32, 64, 128])
    pad = rng.choice([("%", ("neg", "n"), m), ("%", sub(m, ("%", "n", m)), m), sub(times(up("n", m), m), "n")])
    padded = add("n", pad)
    goals: Goals = [
        ([], divides(m, padded)), ([], ("==", padded, times(up("n", m), m))), ([], ("<", pad, m)),
        ([], (">=", pad, 0)), ([divides(m, "n")], ("==", pad, 0)), ([divides(m, "n")], ("==", padded, "n")),
        ([], ("==", pad, 0)), ([("!=", ("%", "n", m), 0)], (">", pad, 0)), ([], ("<=", padded, add("n", m - 1))),
        ([], ("<=", padded, add("n", m - 2))), ([], ("==", ("//", padded, m), up("n", m))),
        ([("==", ("%", "n", m), m - 1)], ("==", pad, 1)), ([(">=", "n", m + 1)], (">=", padded, 2 * m)),
        ([("<=", "n", "k"), divides(m, "k")], ("<=", padded, "k")), ([divides(2 * m, "n")], ("==", pad, 0)),
        ([], ("==", sub(padded, pad), "n")), ([], ("==", add(("//", pad, 2), sub(pad, ("//", pad, 2))), pad)),
    ]
    facts, goal = rng.choice(goals)
    return Query(facts, goal, of(rng, "nk" if "k" in str(facts) else "n", SIZE, POSITIVE, ANY))


def chunks(rng: random.Random) -> Query:
    """chunk, split and tensor_split: sizes of the parts, how many there are, that they add up."""
    k = rng.choice([2, 3, 4, 5, 8])
    size = up("n", k)
    count = up("n", size)
    last = sub("n", times(k - 1, size))
    parts = [add(("//", "n", k), ("ite", ("<", i, ("%", "n", k)), 1, 0)) for i in range(k)]
    i, j = sorted(rng.sample(range(k), 2))
    starts = [add(times(i, ("//", "n", k)), ("min", i, ("%", "n", k))) for i in range(k + 1)]
    goals: Goals = [
        ([], ("<=", last, size)), ([], (">=", times(k, size), "n")), ([divides(k, "n")], ("==", last, size)),
        ([divides(k, "n")], ("==", times(k, ("//", "n", k)), "n")), ([], ("<=", count, k)), ([], ("==", last, size)),
        ([], (">=", parts[i], parts[j])), ([], ("<=", sub(parts[i], parts[j]), 1)), ([], ("==", add(*parts[:3]), "n")),
        ([], ("==", starts[k], "n")), ([], ("==", sub(starts[i + 1], starts[i]), parts[i])),
        ([], ("<=", starts[i], starts[j])), ([], ("==", add(("//", "n", 2), sub("n", ("//", "n", 2))), "n")),
        ([(">=", "n", k)], (">=", ("//", "n", k), 1)), ([], (">=", "n", times(k, ("//", "n", k)))),
        ([("==", "n", times(k, "m"))], ("==", size, "m")), ([("==", "n", times(k, "m"))], ("==", last, "m")),
        ([], (">=", last, 0)), ([divides(2 * k, "n")], divides(2, size)),
    ]
    facts, goal = rng.choice(goals)
    return Query(facts, goal, of(rng, "nm" if "m" in str(facts) else "n", SIZE, POSITIVE, DYNAMIC))


def slices(rng: random.Random) -> Query:
    """Lengths of slices with ends that are clamped, negative ends, steps."""
    c, e, step = rng.choice([0, 1, 2, 5, 10]), rng.choice([1, 3, 8]), rng.choice([1, 2, 3, 4])
    start = rng.choice([clamp(c, 0, "n"), ("min", c, "n"), clamp("a", 0, "n"), ("max", sub("n", e), 0)])
    ends = ["n", clamp(add("b", c), 0, "n"), ("min", "b", "n"), ("max", sub("n", e), 0), clamp(c + e, start, "n")]
    end = rng.choice(ends)
    length = ("max", 0, up(sub(end, start), step))
    plain = ("max", 0, sub(end, start))
    goals: Goals = [
        ([], ("<=", length, "n")), ([], (">=", length, 0)), ([], ("<=", length, plain)), ([], ("<=", start, "n")),
        ([], (">=", end, 0)), ([("<=", "a", "b")], ("<=", clamp("a", 0, "n"), clamp("b", 0, "n"))),
        ([], ("==", ("+", ("min", c, "n"), ("max", 0, sub("n", c))), "n")),
        ([(">=", "n", c)], ("==", ("min", c, "n"), c)), ([("<=", "b", "n")], ("==", ("min", "b", "n"), "b")),
        ([(">", "a", "n")], ("==", clamp("a", 0, "n"), "n")), ([], ("==", length, plain)),
        ([(">=", "n", e)], ("==", sub("n", ("max", sub("n", e), 0)), e)),
        ([("<=", "n", e)], ("==", ("max", sub("n", e), 0), 0)), ([], ("<=", sub("n", ("max", sub("n", e), 0)), e)),
        ([], ("==", add(up("n", 2), ("//", "n", 2)), "n")), ([(">=", "n", 1)], (">=", up("n", step), 1)),
        ([], ("<=", times(sub(up("n", step), 1), step), "n")),
    ]
    facts, goal = rng.choice(goals)
    ranges = of(rng, "nab", SIZE, POSITIVE)
    return Query(facts, goal, {n: ranges[n] for n in "nab" if n in names_in([*facts, goal])})


def views(rng: random.Random) -> Query:
    """reshape and view: products, the -1 dimension, factors moved from one dimension to another."""
    h, k = rng.choice([2, 4, 8, 12, 64]), rng.choice([2, 3, 4])
    numel = times("a", "b", h)
    goals: Goals = [
        ([], ("==", ("//", times("a", "b"), "b"), "a")), ([], ("==", ("//", numel, times("b", h)), "a")),
        ([], divides("b", times("a", "b"))), ([], divides(h, numel)), ([], divides(h * k, numel)),
        ([], ("==", ("//", times("a", "b", h * k), times("b", h)), times("a", k))),
        ([divides(k, "a")], divides(h * k, numel)), ([], ("==", times("a", times("b", h)), times(times(h, "a"), "b"))),
        ([("==", "c", times("a", "b"))], ("==", ("//", "c", "a"), "b")),
        ([("==", "c", times("a", "b"))], divides("b", "c")),
        ([("==", times(h, "c"), numel)], ("==", "c", times("a", "b"))),
        ([("==", "c", times("a", "b"))], ("==", times("c", h), numel)),
        ([("==", times("a", "b"), times("a", "c"))], ("==", "b", "c")), ([], (">=", numel, times("a", h))),
        ([], ("!=", numel, 0)), ([divides(k, "a")], ("==", times(("//", "a", k), k, "b"), times("a", "b"))),
        ([("==", "a", "c")], ("==", times("a", "b"), times("c", "b"))), ([], ("==", times("a", "b"), times("c", "b"))),
        ([divides(h, "a")], ("==", times(("//", "a", h), h), "a")),
        ([("==", times("a", "b"), h), ("==", "b", k)], ("==", times("a", k), h)),
        ([("==", times(("//", "a", h), h), "a")], divides(h, "a")),
        ([("==", "c", times("a", k))], ("==", ("//", times("c", "b"), times("a", "b")), k)),
    ]
    facts, goal = rng.choice(goals)
    ranges = of(rng, "abc", POSITIVE, DYNAMIC, SIZE if rng.random() < 0.3 else POSITIVE)
    return Query(facts, goal, {n: ranges[n] for n in "abc" if n in names_in([*facts, goal])})


def heads(rng: random.Random) -> Query:
    """Attention: hidden sizes that split into heads, key/value heads that are repeated, cached lengths."""
    d, g = rng.choice([16, 32, 64, 128]), rng.choice([2, 3, 4, 8])
    goals: Goals = [
        ([("==", "h", times("k", "g"))], divides("k", "h")),
        ([("==", "h", times("k", "g"))], ("==", ("//", "h", "k"), "g")),
        ([divides("k", "h")], ("==", times(("//", "h", "k"), "k"), "h")),
        ([], ("==", times(("//", "h", "k"), "k"), "h")), ([divides(d, "h")], ("==", times(("//", "h", d), d), "h")),
        ([("==", "h", times(d, "k"))], ("==", ("//", "h", d), "k")), ([("==", "h", times(g, "k"))], (">=", "h", "k")),
        ([("==", "h", times(g, "k"))], (">", "h", "k")),
        ([divides(g, "k"), ("==", "h", times(g, "k"))], divides(g * g, "h")),
        ([("<=", "k", "h")], (">=", ("//", "h", "k"), 1)), ([("==", "h", add("k", "g"))], (">=", "h", "g")),
        ([("==", "h", add("k", "g")), (">=", "k", 1)], (">", "h", "g")),
        ([("==", times("h", "g"), times("k", "g"))], ("==", "h", "k")),
        ([], ("==", ("//", times("k", g, "h"), times("k", g)), "h")),
        ([divides(2, "h")], ("==", add(("//", "h", 2), ("//", "h", 2)), "h")),
        ([], ("==", add(("//", "h", 2), ("//", "h", 2)), "h")),
        ([("==", ("//", "h", "k"), g), divides("k", "h")], ("==", "h", times(g, "k"))),
        ([divides("k", "h"), (">", "h", "k")], (">=", ("//", "h", "k"), 2)),
    ]
    facts, goal = rng.choice(goals)
    ranges = of(rng, "hkg", POSITIVE, DYNAMIC)
    return Query(facts, goal, {n: ranges[n] for n in "hkg" if n in names_in([*facts, goal])})


def blocks(rng: random.Random) -> Query:
    """Block counts of a size, by constant and by symbolic block sizes; rounding up twice."""
    b, c = rng.choice([2, 4, 8, 16, 64, 128]), rng.choice([2, 3, 4, 8])
    n = up("n", b)
    symbolic = up("n", "b")
    goals: Goals = [
        ([], (">=", times(n, b), "n")), ([], ("<", times(sub(n, 1), b), "n")), ([], ("<=", n, "n")),
        ([(">=", "n", 1)], (">=", n, 1)), ([], ("==", up(n, c), up("n", b * c))),
        ([], ("==", ("//", ("//", "n", b), c), ("//", "n", b * c))), ([], (">=", times(symbolic, "b"), "n")),
        ([], ("<", times(symbolic, "b"), add("n", "b"))), ([], ("<=", symbolic, "n")),
        ([], ("==", up(times("n", "b"), "b"), "n")), ([("<=", "n", "b")], ("<=", symbolic, 1)),
        ([(">", "n", "b")], (">=", symbolic, 2)), ([divides(b, "n")], ("==", n, ("//", "n", b))),
        ([("<=", "n", b * c)], ("<=", n, c)), ([(">", "n", b * c)], (">", n, c)),
        ([], ("<=", sub(n, ("//", "n", b)), 1)), ([("<=", "n", "m")], ("<=", n, up("m", b))),
        ([], ("==", up(add("n", b * c), b), add(n, c))), ([], ("==", n, ("//", "n", b))),
        ([("<=", "n", "m")], ("<=", symbolic, up("m", "b"))), ([], ("<=", up(n, c), n)),
    ]
    facts, goal = rng.choice(goals)
    ranges = of(rng, "nbm", POSITIVE, DYNAMIC) | (of(rng, "n", SIZE) if rng.random() < 0.5 else {})
    return Query(facts, goal, {n: ranges[n] for n in "nbm" if n in names_in([*facts, goal])})


def windows(rng: random.Random) -> Query:
    """Window partition and its inverse: heights and widths padded to windows, patch counts."""
    w, v = rng.choice([2, 4, 7, 8, 14, 16]), rng.choice([2, 4])
    high, wide = (add(x, ("%", sub(w, ("%", x, w)), w)) for x in "hx")
    goals: Goals = [
        ([], divides(w, high)), ([], ("==", times(("//", high, w), w), high)),
        ([], ("==", times(("//", high, w), ("//", wide, w), w * w), times(high, wide))),
        ([divides(w, "h"), divides(w, "x")], ("==", times(("//", "h", w), ("//", "x", w), w * w), times("h", "x"))),
        ([divides(w, "h")], ("==", high, "h")), ([], (">=", high, "h")), ([], ("<", sub(high, "h"), w)),
        ([], (">=", sub(high, w), sub("h", w - 1))),
        ([divides(w, "h"), divides(w, "x")], divides(w * w, times("h", "x"))),
        ([divides(w, "h")], divides(w * w, times("h", "x"))), ([], ("==", times(("//", "h", w), w), "h")),
        ([divides(w * v, "h")], divides(v, ("//", "h", w))),
        ([divides(w * v, "h")], ("==", ("//", ("//", "h", w), v), ("//", "h", w * v))),
        ([], ("==", ("//", ("//", "h", w), v), ("//", "h", w * v))),
        ([("==", "h", times(w, "x"))], ("==", ("//", "h", w), "x")),
        ([("==", "h", times(w, "x"))], ("==", ("%", "h", w), 0)),
        ([divides(2, "h")], ("==", ("//", add("h", 1), 2), ("//", "h", 2))),
        ([(">=", "h", w)], (">=", ("//", high, w), 1)),
        ([divides(w, add("h", "x")), divides(w, "x")], divides(w, "h")), ([], ("==", ("%", high, w), ("%", wide, w))),
    ]
    facts, goal = rng.choice(goals)
    ranges = of(rng, "hx", SIZE, POSITIVE, DYNAMIC)
    return Query(facts, goal, {n: ranges[n] for n in "hx" if n in names_in([*facts, goal])})


def interpolation(rng: random.Random) -> Query:
    """Sizes by scale factors: floors, rounds and truncations of products and quotients of floats."""
    scale = rng.choice([0.5, 2.0, 1.5, 0.25, 3.0, 0.75])
    d, k = rng.choice([2, 3, 4, 7, 8]), rng.choice([2, 3, 4])
    scaled = ("f*", "n", scale)
    half = ("f/", "n", d)
    goals: Comparisons = [
        (("floor", ("f*", "n", 2.0)), "==", times(2, "n")), (("floor", ("f*", "n", 0.5)), "==", ("//", "n", 2)),
        (("floor", scaled), "<=", times(3, "n")), (("trunc", half), "==", ("//", "n", d)),
        (("ceil", half), "==", up("n", d)), (("floor", half), "==", ("//", "n", d)),
        (("to_even", ("f*", "n", 2.0)), "==", times(2, "n")), (("floor", scaled), ">=", 0),
        (("to_even", half), "<=", up("n", d)), (("to_even", half), ">=", ("//", "n", d)),
        (("trunc", ("f/", times("n", d), d)), "==", "n"), (("ceil", scaled), ">=", ("floor", scaled)),
        (("ceil", scaled), "<=", add(("floor", scaled), 1)), (("floor", ("f*", ("//", "n", k), float(k))), "<=", "n"),
        (("floor", ("f/", "n", 1)), "==", "n"), (("trunc", ("f*", "n", 0.5)), "<=", "n"),
        (("floor", half), "==", up("n", d)), (("to_even", half), "==", ("//", "n", d)),
    ]
    left, op, right = rng.choice(goals)
    top = rng.choice([300, 1 << 20, 1 << 40])
    return Query([], (op, left, right), {"n": (rng.choice([0, 1, 2]), top)})


def aranges(rng: random.Random) -> Query:
    """Lengths of ranges from start to end by steps."""
    s = rng.choice([1, 2, 3, 4, 5, 8])
    length = up(sub("b", "a"), s)
    counted = ("max", 0, length)
    goals: Goals = [
        ([("<=", "a", "b")], (">=", length, 0)), ([("<", "a", "b")], (">=", length, 1)), ([], (">=", counted, 0)),
        ([], (">=", length, 0)), ([("<=", "a", "b")], (">=", times(length, s), sub("b", "a"))),
        ([("<", "a", "b")], ("<", add("a", times(sub(length, 1), s)), "b")),
        ([("==", "b", add("a", times(s, "c")))], ("==", length, "c")), ([], ("<=", length, sub("b", "a"))),
        ([("<=", "a", "b")], ("<=", length, sub("b", "a"))), ([(">", "a", "b")], ("<=", length, 0)),
        ([(">=", "a", "b")], ("==", counted, 0)), ([("==", "a", 0)], ("==", length, up("b", s))),
        ([("<=", add("a", s), "b")], (">=", length, 1)), ([], ("==", up(sub(add("b", s), "a"), s), add(length, 1))),
        ([("<=", "b", "c")], ("<=", length, up(sub("c", "a"), s))),
        ([("<=", "a", "b"), ("<=", "b", "c")], ("<=", sub("b", "a"), sub("c", "a"))),
        ([], ("==", up(("neg", sub("a", "b")), s), length)), ([], ("==", ("neg", ("//", sub("a", "b"), s)), length)),
    ]
    facts, goal = rng.choice(goals)
    ranges = of(rng, "abc", SIZE, ANY)
    return Query(facts, goal, {n: ranges[n] for n in "abc" if n in names_in([*facts, goal])})




FAMILIES: dict[str, Generator] = {
    "convolution and pooling": convolution, "padding to multiples": padding, "chunk and split": chunks,
    "slices": slices, "views": views, "attention heads": heads, "block counts": blocks, "windows": windows,
    "scale factors (floats)": interpolation, "arange": aranges, "nested quotients": nested, "run-time sums": sums,
    "min/max": lattices, "abs, ite, powers": choices, "and/or/not": propositions, "strides and broadcasting": strides,
}
"""Name -> generator."""
