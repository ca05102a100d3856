"""Sizes as nodes of the graph: from an expression over symbols to the node that computes it at run time.

Each expression becomes one node, made when it is first needed: a dimension of an input is `aten.sym_size.int`, what
follows from it is Python arithmetic on nodes (`operator.mul`, `torch.sym_max`, ...), as torch's proxy tracer leaves it
(torch/fx/experimental/proxy_tensor.py) and its serializer takes it (torch/_export/serde/serialize.py, _SYM_OPS).
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import torch
from torch import fx

from dynamo_lite.capture.errors import CaptureError
from dynamo_lite.symbolic_shapes.expressions.expr import ONE, ZERO, Apply, Atom, Int, Monomial, Node, Symbol, symbols_of
from dynamo_lite.symbolic_shapes.expressions.floats import Float, apply_float, constant_of, to_float
from dynamo_lite.symbolic_shapes.expressions.piecewise import bool_to_int, exact_rounding, maximum, minimum, power
from dynamo_lite.symbolic_shapes.expressions.piecewise import function as apply
from dynamo_lite.symbolic_shapes.expressions.printer import comparison
from dynamo_lite.symbolic_shapes.expressions.quotients import Quotient, negated_max, take_out_quotients
from dynamo_lite.symbolic_shapes.expressions.relations import FALSE, Bool, FloatRelation, Junction, Rel, eq, not_
from dynamo_lite.symbolic_shapes.torch_env.env import TorchShapeEnv

Maker = Callable[[Any, tuple[Any, ...], Any], fx.Node]
"""(function, arguments, meta value) → a new node."""

Operand = fx.Node | int | float | bool

Part = Monomial | Int | Quotient
"""A product of atoms, a minimum, or a quotient: the terms of a polynomial."""

COMPARES = {
    **{"<=": operator.le, "<": operator.lt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne},
    **{"le": operator.le, "lt": operator.lt, "eq": operator.eq},
}
INT_CALLS: dict[str, Callable[..., Any]] = {
    "floordiv": operator.floordiv,
    "pow": operator.pow,
    "max": torch.sym_max,
    "ite": torch.sym_ite,
    "floor": math.floor,
    "ceil": math.ceil,
    "trunc": math.trunc,
    "round": round,
    "bitand": operator.and_,
    "bitor": operator.or_,
}
FLOAT_CALLS: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "int_truediv": operator.truediv,
    "pow": operator.pow,
    "neg": operator.neg,
    "to_float": torch.sym_float,
    "round_digits": round,
    "float_floordiv": operator.floordiv,
    "float_mod": operator.mod,
    "float_max": torch.sym_max,
    "float_min": torch.sym_min,
    "float_ite": torch.sym_ite,
    "sqrt": torch.sym_sqrt,
}
"""The function that computes each operator of ours at run time."""

_NOT_SAVED = ("floor", "ceil", "round")
"""Operators whose functions torch's serializer does not know (torch/_export/serde/serialize.py, _SYM_OPS)."""

ON_TENSORS: dict[str, Any] = {
    name: getattr(torch.ops.aten, name).default for name in (
        "log2", "log", "exp", "cos", "cosh", "sin", "sinh", "tan", "tanh", "asin", "acos", "atan",
    )
}  # fmt: skip
"""Operators that torch's verifier admits no function for (torch/_export/verifier.py): ATen computes them, on a tensor
of one float64. Its last bit may be another than that of the C library, which Python's `math` calls."""


MOST_TERMS = 2_000
"""Of one sum: each of its partial sums is an expression of a node."""


class SizeNodes:
    """The size nodes of one graph.

    env: the environment of the symbols; make: adds a node at the end of the graph; make_first: adds one behind the
    placeholders, where sizes of inputs are read; make_on_tensor: adds those that compute an ATen operator of a number.
    """

    def __init__(self, env: TorchShapeEnv, make: Maker, make_first: Maker, make_on_tensor: Maker | None = None) -> None:
        self._env = env
        self._make, self._make_first, self._make_on_tensor = make, make_first, make_on_tensor
        self._nodes: dict[Node, fx.Node] = {}
        self._places: dict[Node, tuple[fx.Node, int, bool]] = {}
        self._solvable: dict[Symbol, Int] = {}
        self._truths: dict[Symbol, fx.Node] = {}

    def add_tensor(self, node: fx.Node, tensor: torch.Tensor, *, first: bool = False) -> None:
        """The sizes of `tensor`, the value of `node`, can be read from it from here on. first: it is an input."""
        for dim, size in enumerate(tensor.shape):
            if isinstance(size, torch.SymInt):
                core = self._env.unwrap(size)
                if core not in self._places:
                    self._places[core] = (node, dim, first)
                    self._note_solvable(core)

    def add_value(self, node: fx.Node, value: Any) -> None:
        """`node` is this number: an integer argument, or the result of item()."""
        core = self._env.unwrap(value)
        self._nodes.setdefault(core, node)
        if isinstance(core, Bool):  # create_unbacked_symbool is Eq(u, 1)
            self._nodes.setdefault(not_(core), self._make(torch.sym_not, (node,), self._env.wrap(not_(core))))
            for symbol in symbols_of(core):
                if core == eq(symbol.as_int(), ONE):
                    self._truths.setdefault(symbol, node)
        elif isinstance(core, Int):
            self._note_solvable(core)

    def of(self, value: Any) -> Operand:
        """The node (or number) for a SymInt, SymFloat or SymBool.

        Raises CaptureError if nothing in the graph knows one of its symbols.
        """
        return self._lower(value.node.core)

    def _note_solvable(self, core: Int) -> None:
        """2*d + 1 is a size of an input: d can be computed from it."""
        if core.as_atom() is None and len(core.terms) == 1:
            (mono,) = core.terms
            if len(mono) == 1 and isinstance(mono[0], Symbol):
                self._solvable.setdefault(mono[0], core)

    # -- expressions -----------------------------------------------------------------------------------------------

    def _lower(self, core: Node) -> Operand:
        found = self._nodes.get(core)
        if found is not None:
            return found
        read = self._read(core)
        node = self._compute(core) if read is None else read
        if isinstance(node, fx.Node):
            self._nodes[core] = node
        return node

    def _read(self, core: Node) -> fx.Node | None:
        place = self._places.get(core)
        if place is None:
            return None
        source, dim, first = place
        make = self._make_first if first else self._make
        return make(torch.ops.aten.sym_size.int, (source, dim), self._env.wrap(core))

    def _compute(self, core: Node) -> Operand:
        if isinstance(core, Int):
            constant = core.as_constant()
            if constant is not None:
                return constant
            atom = core.as_atom()
            return self._polynomial(core) if atom is None else self._atom(atom, core)
        if isinstance(core, Float):
            return self._float(core)
        if isinstance(core, Bool):
            return self._bool(core)
        raise TypeError(f"no node for {type(core).__name__}")

    def _call(self, function: Any, args: tuple[Operand, ...], core: Node) -> fx.Node:
        return self._make(function, args, self._env.wrap(core))

    def _polynomial(self, core: Int) -> Operand:
        if len(core.terms) > MOST_TERMS:
            what = f"the size is a sum of {len(core.terms)} terms, too many to be operations of a graph"
            raise CaptureError("unbound-size", what, "compute it on tensors", {"size": "a sum"})
        rest, quotients = take_out_quotients(core)
        parts = [_term(mono, coef) for mono, coef in rest.sorted_terms()]
        return self._sum([*parts, *quotients], rest.const)

    def _sum(self, parts: list[tuple[int, Part]], const: int) -> Operand:
        """Adds up coef * part, positive ones first, then the constant; each step is a node of its own expression."""
        parts.sort(key=lambda part: part[0] < 0)
        node: Operand | None = None
        so_far = ZERO
        for coef, part in parts:
            base, value = self._part(part)
            subtract = coef < 0 and node is not None
            factor = abs(coef) if subtract else coef
            term, term_value = base, value * factor
            if factor != 1:
                term = self._remembered(operator.mul, (base, factor), term_value)
            if node is None:
                node, so_far = term, term_value
            else:
                so_far = so_far - term_value if subtract else so_far + term_value
                node = self._remembered(operator.sub if subtract else operator.add, (node, term), so_far)
        if node is None:
            return const
        if const:
            so_far = so_far + const
            function = operator.sub if const < 0 else operator.add
            node = self._remembered(function, (node, abs(const)), so_far)
        return node

    def _remembered(self, function: Any, args: tuple[Operand, ...], core: Node) -> Operand:
        found = self._nodes.get(core)
        if found is None:
            found = self._nodes[core] = self._call(function, args, core)
        return found

    def _product(self, mono: Monomial) -> Operand:
        node = self._lower(mono[0].as_int())
        so_far = mono[0].as_int()
        for atom in mono[1:]:
            so_far = so_far * atom.as_int()
            node = self._remembered(operator.mul, (node, self._lower(atom.as_int())), so_far)
        return node

    def _part(self, part: Part) -> tuple[Operand, Int]:
        """The node of a term without its coefficient, and its value."""
        if isinstance(part, tuple):
            return self._product(part), math.prod((a.as_int() for a in part), start=ONE)
        if isinstance(part, Quotient):
            value, function = part.value(), operator.floordiv if part.op == "//" else operator.mod
            found: Operand | None = self._nodes.get(value)
            if found is None:
                found = self._remembered(function, (self._lower(part.numerator), self._lower(part.divisor)), value)
            return found, value
        return self._nodes.get(part) or self._minimum(part), part

    def _minimum(self, part: Int) -> Operand:
        """min(a, b), in canonical form -max(-a, -b)."""
        ((mono, _),) = part.terms.items()
        low = negated_max(mono[0])
        assert low is not None
        return self._fold(torch.sym_min, minimum, low)

    def _fold(self, function: Any, meaning: Callable[[Int, Int], Int], args: list[Int]) -> Operand:
        node, so_far = self._lower(args[0]), args[0]
        for arg in args[1:]:
            so_far = meaning(so_far, arg)
            node = self._remembered(function, (node, self._lower(arg)), so_far)
        return node

    def _atom(self, atom: Atom, core: Int) -> Operand:
        if isinstance(atom, Apply):
            if atom.op == "max":
                return self._fold(torch.sym_max, maximum, [a for a in atom.args if isinstance(a, Int)])
            if atom.op == "bitxor":  # torch's verifier admits `&` and `|` only
                left, right = (a for a in atom.args if isinstance(a, Int))
                either, both = (self._lower(apply(op, left, right)) for op in ("bitor", "bitand"))
                return self._call(operator.sub, (either, both), core)
            if atom.op in _NOT_SAVED and (exact := self._exact(atom)) is not None:
                return self._lower(exact)
            if atom.op == "pow" and (signed := _signed_power(atom)) is not None:
                return self._lower(signed)
            if atom.op == "ite" and (product := _as_product(atom)) is not None:
                return self._lower(product)
            function = INT_CALLS.get(atom.op)
            if function is not None:
                return self._call(function, tuple(map(self._lower, atom.args)), core)
        elif isinstance(atom, Symbol):
            simpler = self._env.core.simplify(core)
            if simpler is not core:
                return self._lower(simpler)
            if atom in self._solvable:
                return self._solve(atom, core)
            if atom in self._truths:  # a sub-graph takes the number, and computes the truth value again
                return self._call(torch.sym_ite, (self._truths[atom], 1, 0), core)
        raise CaptureError(
            "unbound-size",
            f"the size {core} is neither a dimension of an input nor an operator's result",
            "pass it as an argument, or take it from a tensor's shape",
            {"size": str(core)},
        )

    def _exact(self, atom: Apply) -> Int | None:
        """math.ceil(n / 2) in integers, for sizes n of tensors: exact up to 2**51, which no memory holds."""
        (value,) = atom.args
        if not isinstance(value, Float) or not all(s.as_int() in self._places for s in symbols_of(value)):
            return None
        if value.op == "int_truediv" and constant_of(value.args[1]) is None:
            return None  # a divisor may be zero or negative
        exact, bounds = exact_rounding(atom.op, value)
        return None if FALSE in bounds else exact

    def _solve(self, symbol: Symbol, core: Int) -> Operand:
        """symbol = (A * symbol + B - B) // A."""
        known = self._solvable[symbol]
        ((_, scale),) = known.terms.items()
        node = self._lower(known)
        if known.const:
            node = self._remembered(operator.sub, (node, known.const), known - known.const)
        return self._call(operator.floordiv, (node, scale), core) if scale != 1 else node

    def _float(self, core: Float) -> Operand:
        if core.op == "const":
            return core.value
        if core.op == "abs":  # torch's verifier does not admit it. (Adding zero makes -0.0 zero.)
            (inner,) = core.args
            assert isinstance(inner, Float)
            value = self._lower(inner)
            largest = self._call(torch.sym_max, (value, self._call(operator.neg, (value,), -inner)), core)
            return self._call(operator.add, (largest, 0.0), core)
        if core.op == "pow" and _is_negative(core.args[0]):
            signed_float = _signed_float_power(core)
            if signed_float is not None:
                return self._lower(signed_float)
        if core.op in ON_TENSORS and self._make_on_tensor is not None:
            return self._make_on_tensor(ON_TENSORS[core.op], (self._lower(core.args[0]),), self._env.wrap(core))
        if core.op in ON_TENSORS or (core.op == "pow" and _is_negative(core.args[0])):
            return float(self._env.wrap(core).node.evaluate())
        if core.op == "float_ite" and self._make_on_tensor is not None and _chooses_constant(core):
            choice = (self._lower(bool_to_int(core.args[0])), *map(self._lower, core.args[1:]))  # type: ignore[arg-type]
            return self._make_on_tensor(torch.ops.aten.where.self, choice, self._env.wrap(core))
        function = FLOAT_CALLS.get(core.op)
        if function is None:
            raise CaptureError(
                "unbound-size",
                f"the number {core} cannot be computed in a graph",
                "compute it on tensors, or pass it as an argument",
                {"size": str(core)},
            )
        return self._call(function, tuple(map(self._lower, core.args)), core)

    def _bool(self, core: Bool) -> Operand:
        value = getattr(core, "value", None)
        if value is not None:
            return bool(value)
        if isinstance(core, Rel):
            left, op, right = comparison(core)
            return self._call(COMPARES[op], (self._lower(left), self._lower(right)), core)
        if isinstance(core, Junction):
            function = operator.and_ if core.kind == "and" else operator.or_
            node = self._lower(core.args[0])
            for arg in core.args[1:-1]:
                node = self._make(function, (node, self._lower(arg)), self._env.wrap(core))
            return self._call(function, (node, self._lower(core.args[-1])), core)
        assert isinstance(core, FloatRelation)
        if not core.positive:
            return self._call(torch.sym_not, (self._lower(not_(core)),), core)
        return self._call(COMPARES[core.op], tuple(map(self._lower, core.args)), core)


# fx writes `operator.pow(-2, n)` as `-2 ** n`, which Python reads as -(2 ** n): powers of negative constants are
# computed without them.
def _signed_power(atom: Apply) -> Int | None:
    """(-c) ** n, for a constant c > 0, as c ** n with the sign of n's parity."""
    base, exponent = atom.args
    assert isinstance(base, Int) and isinstance(exponent, Int)
    if base.terms or base.const >= 0:
        return None
    return (1 - (exponent % 2) * 2) * power(-base.const, exponent)


def _signed_float_power(core: Float) -> Float | None:
    """The same for a float to an integer's power; None for another power, which is complex if it is not an integer."""
    base, exponent = core.args
    assert isinstance(base, Float) and isinstance(exponent, Float)
    if exponent.op != "to_float":
        return None
    (n,) = exponent.args
    assert isinstance(n, Int)
    return to_float(1 - (n % 2) * 2) * apply_float("pow", -base, exponent)


def _chooses_constant(core: Float) -> bool:
    """Whether one choice is a constant and the other is not: torch.sym_ite takes two numbers of one type."""
    one, other = (constant_of(arg) is None for arg in core.args[1:])
    return one is not other


def _is_negative(node: Node) -> bool:
    value = constant_of(node)
    return value is not None and math.copysign(1.0, value) < 0


def _term(mono: Monomial, coef: int) -> tuple[int, Part]:
    """A term as (coefficient, product of atoms); -max(-a, -b) is min(a, b)."""
    if coef < 0 and len(mono) == 1 and negated_max(mono[0]) is not None:
        return -coef, -mono[0].as_int()
    return coef, mono


def _as_product(choice: Apply) -> Int | None:
    """`a if c else 2` as `(1 if c else 0) * (a - 2) + 2`: torch.sym_ite takes two numbers of one type. None if it has
    them."""
    condition, one, other = choice.args
    assert isinstance(one, Int) and isinstance(other, Int)
    if (one.as_constant() is None) is (other.as_constant() is None):
        return None
    return bool_to_int(condition) * (one - other) + other  # type: ignore[arg-type]
