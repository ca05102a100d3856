"""Each constructor of integers and propositions, and substitution, against Python on every small case."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import pytest

from dynamo_lite.symbolic_shapes import (
    FALSE,
    TRUE,
    Bool,
    Float,
    Int,
    Symbol,
    and_,
    as_bool,
    as_int,
    bool_to_int,
    compare_floats,
    eq,
    evaluate,
    float_const,
    ge,
    gt,
    int_truediv,
    ite,
    ite_bool,
    le,
    lt,
    maximum,
    minimum,
    ne,
    not_,
    or_,
    power,
    round_float,
    round_int,
    to_float,
)
from dynamo_lite.symbolic_shapes.expressions.expr import Apply, Node
from dynamo_lite.symbolic_shapes.expressions.floats import apply_float
from dynamo_lite.symbolic_shapes.expressions.piecewise import (
    MOST_FACTORS,
    function,
    register_function,
    shift_left,
    shift_right,
)
from dynamo_lite.symbolic_shapes.expressions.relations import Junction, Rel
from dynamo_lite.symbolic_shapes.expressions.substitution import AT_ZERO, build, build_float, substitute, top_atoms
from tests.symbolic_shapes.operator_cases import PAIRS, SMALL, check, symbols

TRIPLES = list(product((-3, -1, 0, 1, 2), repeat=3))


# -- max, min, if-then-else ---------------------------------------------------------------------------------------
SUMS: list[tuple[int, int, int, int]] = [
    (1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 2), (2, 0, 0, 4), (0, 2, 0, -2), (1, 0, 1, 3), (0, 1, 1, -1), (-2, 0, 4, 6),
    (0, -2, 4, -6), (1, 1, 0, 0), (-1, 0, 0, 5), (0, 0, 0, 3), (0, 0, 0, -4), (3, 0, 0, 0), (2, 0, 2, 1), (0, 4, 2, 7)]


def linear(parts: Sequence[Any], sum_: tuple[int, int, int, int]) -> Any:
    *factors, const = sum_
    return sum((p * k for p, k in zip(parts, factors)), const)


def test_max_and_min_of_sums_are_pythons() -> None:
    parts = symbols("xyz")
    for chosen in [*product(SUMS, repeat=2), *product(SUMS[::3], repeat=3)]:
        args = [linear(parts, s) for s in chosen]
        for ours, python in ((maximum, max), (minimum, min)):
            check(ours(*args), lambda *v, p=python, c=chosen: p(linear(v, s) for s in c), parts, TRIPLES[::3])
            nested = ours(ours(*args) * 2 + parts[2], parts[0] * 2 - 4)
            check(nested, lambda *v, p=python, c=chosen: p(p(linear(v, s) for s in c) * 2 + v[2], v[0] * 2 - 4),
                  parts, TRIPLES[::7])


def test_a_max_has_one_form() -> None:
    x, y, z = symbols("xyz")
    m = maximum(x, y)
    assert maximum(y, x) is m and maximum(x, y, x) is m and maximum(m, x) is m and maximum(x) is x
    assert maximum(m, z) is maximum(x, maximum(y, z)) is maximum(z, y, x)
    assert maximum(x + z * 3 + 2, y + z * 3 + 2) is m + z * 3 + 2
    assert maximum(x * 6 + 4, y * 6 - 2) is maximum(x + 1, y) * 6 - 2
    assert maximum(x * 2, y * 4) is maximum(x, y * 2) * 2
    assert maximum(m * 2, z * 2) is maximum(x, y, z) * 2
    assert maximum(m * 2 + 1, z * 2 + 1) is maximum(x, y, z) * 2 + 1
    assert maximum(x, x + 1) is x + 1 is maximum(x + 1, x) and minimum(x, x + 1) is x
    q = (x // 2 + 1) * 2
    assert maximum(maximum(q, y * 2), 2) is maximum(q, y * 2, 2)
    low, high, zero = Symbol("low", 0, 3).as_int(), Symbol("high", 3, 9).as_int(), Symbol("zero", 0).as_int()
    assert maximum(low, high) is high is maximum(high, low) and maximum(zero, 0) is zero is maximum(0, zero)
    for kept in (maximum(low, high - 1), maximum(zero, 1)):
        assert any(isinstance(atom, Apply) for atom in kept.atoms())


CHOICES: list[Callable[[Any, Any], tuple[Any, Any]]] = [
    lambda x, y: (x, y), lambda x, y: (y, x), lambda x, y: (x + 3, x - 2), lambda x, y: (x * 2 + y, x * 2 - 3),
    lambda x, y: (x, x), lambda x, y: (y + 1, x), lambda x, y: (x, y + 1), lambda x, y: (x, y - 1),
    lambda x, y: (y, x + 1),
    lambda x, y: (x * 0 + 1, x * 0), lambda x, y: (x * 2, y * 2)]


def test_a_choice_is_pythons() -> None:
    x, y = symbols("xy")
    for op, python in ((le, operator.le), (lt, operator.lt), (ge, operator.ge), (gt, operator.gt), (eq, operator.eq),
                       (ne, operator.ne)):
        for k, choose in product((-2, -1, 0, 1, 2), CHOICES):
            def expected(u: int, v: int, python: Any = python, choose: Any = choose, k: int = k) -> int:
                then, other = choose(u, v)
                return int(then if python(u, v + k) else other)
            check(ite(op(x, y + k), *choose(x, y)), expected, (x, y), PAIRS)
    for condition in (le(x, 1) & ge(y, 0), le(x, 1) | eq(y, 0), compare_floats("lt", int_truediv(x, 3), 0.5)):
        for choose in CHOICES:
            check(ite(condition, *choose(x, y)),
                  lambda u, v, c=condition, choose=choose:
                      choose(u, v)[not evaluate(c, {x.as_atom(): u, y.as_atom(): v})], (x, y), PAIRS)


def test_a_choice_has_one_form() -> None:
    x, y = symbols("xy")
    assert ite(True, x, y) is x and ite(False, x, y) is y and ite(TRUE, 1, 2) is as_int(1)
    assert ite(le(x, 0), y, y) is y
    assert ite(le(y, x), x, y) is maximum(x, y) is ite(lt(y, x), x, y)
    assert ite(le(x, y), x, y) is minimum(x, y) is ite(lt(x, y), x, y)
    for condition in (eq(x, y), ne(x, 3), le(x, 2), le(x, 1) | eq(y, 2)):
        assert ite(condition, x, y) is ite(not_(condition), y, x)
        assert ite(condition, x + 2 * y + 5, 2 * y + 3) is ite(condition, x + 2, 0) + 2 * y + 3


def test_choices_and_numbers_of_propositions() -> None:
    x, y = symbols("xy")
    a, b, c = le(x, 0), eq(y, 1), lt(x, y)
    for cond, then, other in product((a, b, c, True, False), repeat=3):
        def truth(p: Any, u: int, v: int) -> bool:
            return bool(evaluate(as_bool(p), {x.as_atom(): u, y.as_atom(): v}))
        check(ite_bool(cond, then, other), lambda u, v, cond=cond, then=then, other=other, truth=truth:
              truth(then, u, v) if truth(cond, u, v) else truth(other, u, v), (x, y), PAIRS)
        check(bool_to_int(cond), lambda u, v, cond=cond, truth=truth: int(truth(cond, u, v)), (x, y), PAIRS[::5])


# -- powers, shifts, rounding of integers, other functions --------------------------------------------------------
def test_powers_and_shifts_are_pythons() -> None:
    x, y = symbols("xy")
    for n in (0, 1, 2, 3, 5, 6, MOST_FACTORS, MOST_FACTORS + 1):
        for node, base in ((x, lambda u, v: u), (x + 1, lambda u, v: u + 1), (x - y * 2, lambda u, v: u - v * 2),
                           (x * y, lambda u, v: u * v)):
            check(power(node, as_int(n)), lambda u, v, n=n, base=base: base(u, v)**n, (x, y), PAIRS[::4])
    for u, n in product(SMALL, range(6)):
        assert power(as_int(u), as_int(n)) is as_int(u**n)
        assert shift_left(as_int(u), as_int(n)) is as_int(u << n)
        assert shift_right(as_int(u), as_int(n)) is as_int(u >> n)
    points = [(u, n) for u in SMALL for n in range(5)]
    check(power(x, y), lambda u, n: u**n, (x, y), points)
    check(shift_left(x, y), lambda u, n: u << n, (x, y), points)
    check(shift_right(x, y), lambda u, n: u >> n, (x, y), points)
    for base in SMALL:
        check(power(as_int(base), y), lambda u, n, base=base: base**n, (x, y), points)
    assert power(as_int(1), y) is as_int(1) and power(x, as_int(0)) is as_int(1) and power(x, as_int(1)) is x
    for node in (power(x, y), power(as_int(2), y)):
        with pytest.raises(ValueError, match="negative power"):
            evaluate(node, {x.as_atom(): 2, y.as_atom(): -1})
    for base in (x, as_int(2)):
        with pytest.raises(ValueError, match="negative power"):
            power(base, as_int(-1))


def test_which_powers_are_multiplied_out() -> None:
    x, y = symbols("xy")

    def is_kept(base: Int, n: int) -> bool:
        atom = power(base, as_int(n)).as_atom()
        return isinstance(atom, Apply) and atom.op == "pow"

    assert not is_kept(x, MOST_FACTORS) and is_kept(x, MOST_FACTORS + 1)
    assert not is_kept(x + y, 10) and is_kept(x + y, 11) and not is_kept(x + 1, 10) and is_kept(x + 1, 11)
    assert power(x + 1, as_int(2)) is x * x + x * 2 + 1 and power(as_int(3), as_int(100)) is as_int(3**100)


def test_rounding_an_integer_to_tens_is_pythons() -> None:
    x, = symbols("x")
    for digits in (-3, -2, -1, 0, 1, 2):
        points = [(v,) for v in [*range(-40, 41), *range(-1600, 1600, 25)]]
        check(round_int(x, digits), lambda v, digits=digits: round(v, digits), (x,), points)
    assert round_int(x, 0) is x is round_int(x, 3)


def test_functions_without_algebra() -> None:
    x, y = symbols("xy")
    for name, python in (("bitand", operator.and_), ("bitor", operator.or_), ("bitxor", operator.xor)):
        for u, v in PAIRS:
            assert function(name, u, v) is as_int(python(u, v))
        check(function(name, x, y), python, (x, y), PAIRS)
        check(function(name, x, 3), lambda u, v, python=python: python(u, 3), (x, y), PAIRS)
        assert function(name, x, y) is function(name, x, y)
    register_function("bitand", operator.and_)
    with pytest.raises(ValueError, match="registered already"):
        register_function("bitand", operator.or_)
    with pytest.raises(TypeError, match="no meaning"):
        evaluate("x", {})  # type: ignore[arg-type]


# -- relations ----------------------------------------------------------------------------------------------------
RELATIONS: list[tuple[Callable[[Any, Any], Bool], Callable[[int, int], bool]]] = [
    (le, operator.le), (lt, operator.lt), (ge, operator.ge), (gt, operator.gt), (eq, operator.eq), (ne, operator.ne)]


def test_relations_and_their_negations_are_pythons() -> None:
    numbers = list(product((2, -3, 6, 0), (0, 4, -2), (0, 1, 3, -4), (0, 2, -3)))
    for (make, python), (a, b, c, k) in product(RELATIONS, numbers):
        x, y = symbols("xy")
        relation = make(x * a + c, y * b + k)
        for node, sense in ((relation, True), (not_(relation), False), (~not_(~relation), False)):
            check(node, lambda u, v, p=python, a=a, b=b, c=c, k=k, s=sense: p(a * u + c, b * v + k) is s,
                  (x, y), PAIRS[::2])
        assert not_(not_(relation)) is relation
        if isinstance(relation, Rel):
            assert relation.poly.content() == 1
        x, y = symbols("xy")  # asked in the other order, of new symbols: nothing is remembered
        check(not_(make(x * a + c, y * b + k)), lambda u, v, p=python, a=a, b=b, c=c, k=k: not p(a * u + c, b * v + k),
              (x, y), PAIRS[::3])


def test_a_relation_has_one_form() -> None:
    x, y = symbols("xy")
    assert eq(x, y) is eq(y, x) is eq(x * 3, y * 3) and ne(x, y) is ne(y, x) is not_(eq(y, x))
    assert le(x * 2, 3) is le(x, 1) is lt(x, 2) is not_(gt(x, 1)) and ge(x * 2, 3) is ge(x, 2) is gt(x, 1)
    assert eq(x * 2, 3) is FALSE and ne(x * 2 + y * 4, 1) is TRUE and le(3, 3) is TRUE and lt(3, 3) is FALSE
    assert eq(3, 3) is TRUE and ne(3, 3) is FALSE and eq(3, 4) is FALSE and ne(3, 4) is TRUE and le(4, 3) is FALSE


def test_junctions_are_pythons() -> None:
    x, y = symbols("xy")
    parts = [le(x, 0), eq(y, 1), lt(x, y), not_(le(x, 0)), TRUE, FALSE, compare_floats("lt", int_truediv(x, 3), 0.4)]

    def truth(p: Bool, u: int, v: int) -> bool:
        return bool(evaluate(p, {x.as_atom(): u, y.as_atom(): v}))

    for chosen in product(parts, repeat=3):
        for node, fold in ((and_(*chosen), all), (or_(*chosen), any), (chosen[0] & (chosen[1] & chosen[2]), all),
                           (chosen[0] | (chosen[1] | chosen[2]), any)):
            check(node, lambda u, v, c=chosen, f=fold: f(truth(p, u, v) for p in c), (x, y), PAIRS[::4])
            check(not_(node), lambda u, v, c=chosen, f=fold: not f(truth(p, u, v) for p in c), (x, y), PAIRS[::4])
        mixed = (chosen[0] & chosen[1]) | chosen[2]
        check(mixed, lambda u, v, c=chosen: (truth(c[0], u, v) and truth(c[1], u, v)) or truth(c[2], u, v),
              (x, y), PAIRS[::4])
        assert and_(*chosen) is and_(*chosen[::-1]) and or_(*chosen) is or_(*chosen[::-1])
    a, b, c = parts[:3]
    assert and_() is TRUE and or_() is FALSE and and_(a) is a is or_(a, a) and (a & b) & c is a & (b & c)
    both = and_(a, b, c)
    assert isinstance(both, Junction) and len(both.args) == 3 and len({p.id for p in both.args}) == 3
    assert and_(a, not_(a)) is FALSE and or_(a, b, not_(a)) is TRUE and and_(a, True) is a and or_(a, False) is a
    assert and_(a, False) is FALSE and or_(a, True) is TRUE and and_(TRUE, TRUE) is TRUE


def test_a_proposition_has_no_truth_and_nothing_else_is_one() -> None:
    x, = symbols("x")
    assert bool(TRUE) is True and bool(FALSE) is False and as_bool(True) is TRUE and as_bool(False) is FALSE
    assert not_(TRUE) is FALSE and not_(FALSE) is TRUE and not_(True) is FALSE
    for undecided in (le(x, 3), le(x, 3) & ge(x, 0), compare_floats("lt", int_truediv(x, 3), 0.4)):
        with pytest.raises(TypeError, match="is not known"):
            bool(undecided)
    for other in (1, 0, None, x, "x"):
        with pytest.raises(TypeError, match="expected a proposition"):
            as_bool(other)  # type: ignore[arg-type]
    of_no_kind = Bool.__new__(Bool)
    of_no_kind._negation = None
    with pytest.raises(TypeError, match="cannot negate"):
        not_(of_no_kind)


# -- substitution -------------------------------------------------------------------------------------------------
def samples_of(x: Int, y: Int) -> list[Node]:
    """A node of every operator and sort."""
    u, v = to_float(x), to_float(y)
    ints = [x, x * 2 - y, x * x * y - 3, x // 2, x // y, (x * 2 + 1) // y, x % 3 + y, maximum(x, y) - 2,
            minimum(x, y, 3), ite(eq(x, y), x, 5), ite(le(x, 2) & ne(y, 1), x, y), power(x, y), power(as_int(2), y),
            function("bitand", x, y), round_float("floor", int_truediv(x, y)), round_float("ceil", u * 0.3),
            round_float("trunc", u / v), round_float("round", u * 0.5), maximum(x // 2, y) // 3]
    floats: list[Node] = [u, u + v, u * 0.5, int_truediv(x, y), apply_float("sqrt", u), -v]
    relations: list[Node] = [le(x, y), eq(x * 2, y + 1), ne(x, 3), le(x // 2, y), (x < y) & (y < 4),
                             (x < y) | eq(y, x // 2),
                             compare_floats("lt", u * 0.3, v), not_(compare_floats("le", int_truediv(x, y), 0.5)), TRUE]
    return [*ints, *floats, *relations]


IMAGES: list[tuple[Callable[[Int], Int], Callable[[int], int]]] = [
    *((lambda w, k=k: as_int(k), lambda w, k=k: k) for k in (-3, -1, 0, 1, 2)),  # type: ignore[misc]
    (lambda w: w, lambda w: w), (lambda w: w + 1, lambda w: w + 1), (lambda w: w * 2 - 3, lambda w: w * 2 - 3),
    (lambda w: w // 2, lambda w: w // 2)]


def test_a_substitution_has_the_value() -> None:
    x, y, w = symbols("xyw")
    a, b, c = x.as_atom(), y.as_atom(), w.as_atom()
    for node, (image, python) in product(samples_of(x, y), IMAGES):
        for replaced, other in ((a, b), (b, a)):
            new = substitute(node, {replaced: image(w)})
            swapped = substitute(node, {replaced: image(w), other: w - 1})
            for value in SMALL:
                for result, values in ((new, {other: 2, c: value}), (swapped, {other: value - 1, c: value})):
                    try:
                        expected = evaluate(node, {replaced: python(value), other: values[other]})
                    except (ArithmeticError, ValueError):
                        continue
                    given = values if result is new else {c: value}
                    assert evaluate(result, given) == expected, (node, result, value)


def test_what_is_not_replaced_stays_the_same_object() -> None:
    x, y, w = symbols("xyw")
    for node in samples_of(x, y):
        assert substitute(node, {}) is node and substitute(node, {w.as_atom(): x}) is node
        assert substitute(node, {x.as_atom(): x, y.as_atom(): y}) is node
    half = x // 2
    assert substitute(half * 3 + x, {half.as_atom(): w}) is w * 3 + x  # an atom is replaced whole
    assert substitute(maximum(half, y), {half.as_atom(): w}) is maximum(w, y)
    assert substitute(x * y + x, {x.as_atom(): y}) is y * y + y
    memo: dict[Node, Any] = {}
    assert substitute(half, {x.as_atom(): w}, memo) is w // 2 and memo[half.as_atom()] is w // 2
    with pytest.raises(TypeError, match="cannot substitute"):
        substitute("x", {})


def test_what_python_raises_on_stays_unknown() -> None:
    x, y = symbols("xy")
    assert substitute(x // y, {y.as_atom(): as_int(0)}) is AT_ZERO is build("floordiv", (as_int(3), as_int(0)))
    negative = build("pow", (as_int(2), as_int(-1))).as_atom()
    assert isinstance(negative, Apply) and negative.op == "pow"
    for node in (build_float("int_truediv", (as_int(1), as_int(0))), build_float("to_float", (as_int(2**1100),)),
                 build_float("sqrt", (float_const(-1.0),))):
        assert isinstance(node, Float) and node.op in ("int_truediv", "to_float", "sqrt")
    assert build("bitand", (as_int(6), as_int(3))) is as_int(2) and build("max", (x, y)) is maximum(x, y)
    assert build("floordiv", (x, as_int(2))) is x // 2


def test_atoms_at_the_top() -> None:
    x, y, z = (Symbol(n) for n in "xyz")
    a, b, c = x.as_int(), y.as_int(), z.as_int()
    half = (c // 2).as_atom()
    assert top_atoms(c // 2 + b * a) == [x, y, half]
    assert top_atoms(le(c, a) & eq(b, c // 2)) == [x, y, z, half]
    assert top_atoms(as_int(3)) == [] == top_atoms(TRUE)
    assert top_atoms(compare_floats("lt", int_truediv(c, a), 0.5)) == [x, z]
