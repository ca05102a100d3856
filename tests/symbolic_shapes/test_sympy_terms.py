"""Sums and products of symbols are those that sympy's own constructors make."""

from __future__ import annotations

import random
import subprocess
import sys

import sympy

from dynamo_lite.symbolic_shapes.expressions.sympy_bridge.terms import product, sum_of_terms

from ..webassembly import needs_processes

_SYMBOLS = [sympy.Symbol(f"s{i}", integer=True, positive=True) for i in range(14)] + [sympy.Dummy("d")]


def test_products_are_those_of_mul() -> None:
    choose = random.Random(0)
    for _ in range(1000):
        factors, coef = choose.choices(_SYMBOLS, k=choose.randint(1, 4)), choose.choice([1, 2, -1, 3, -7])
        found, expected = product(coef, factors), sympy.Mul(coef, *factors)
        assert (type(found), found.args, found) == (type(expected), expected.args, expected)


def test_sums_are_those_of_add() -> None:
    choose = random.Random(0)
    for _ in range(1000):
        rows = [choose.choices(_SYMBOLS, k=choose.randint(1, 3)) for _ in range(choose.randint(2, 5))]
        monomials = {tuple(sorted(row, key=str)) for row in rows}
        parts = [product(choose.choice([1, 2, -1, 5]), [*monomial]) for monomial in monomials]
        parts += [sympy.Integer(choose.choice([3, -2]))] * choose.randint(0, 1)
        if len(parts) > 1:
            found, expected = sum_of_terms([*parts]), sympy.Add(*parts)
            assert (type(found), found.args, found) == (type(expected), expected.args, expected)


def test_other_terms_are_left_to_sympy() -> None:
    x, y = _SYMBOLS[:2]
    assert product(2, [sympy.Max(x, y)]) == 2 * sympy.Max(x, y)
    assert sum_of_terms([sympy.floor(x / y), x, sympy.Integer(1)]) == sympy.floor(x / y) + x + 1


@needs_processes
def test_a_polynomial_does_not_import_tensors_of_sympy() -> None:
    program = (
        "import sys; from dynamo_lite.symbolic_shapes.expressions.sympy_bridge.converters import ToSympy;"
        "from dynamo_lite.symbolic_shapes import ShapeEnv;"
        "env = ShapeEnv(); a, b = (env.backed(5), env.backed(7));"
        "ToSympy()(3 * a * b * b + 2 * a - 1); print('sympy.tensor.tensor' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "False"
