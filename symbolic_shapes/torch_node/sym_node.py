"""SymNode: an expression of ours with the interface of the nodes in torch's SymInt, SymFloat and SymBool.

Nodes are interned per environment and cache the results of their operations, so each of the thousands of queries from
C++ costs one dictionary look-up. The meaning of an operation is a row in operators.py. The protocol is torch's:
torch/fx/experimental/sym_node.py and torch/csrc/utils/python_symnode.h.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import torch

from dynamo_lite.symbolic_shapes.expressions.expr import Int, Node, TooManyTerms, as_int, symbols_of
from dynamo_lite.symbolic_shapes.expressions.floats import Float, apply_float, as_float
from dynamo_lite.symbolic_shapes.expressions.piecewise import bool_to_int, ite, ite_bool, round_float, round_int
from dynamo_lite.symbolic_shapes.expressions.relations import Bool, eq, ge
from dynamo_lite.symbolic_shapes.torch_node import layout as torch_layout
from dynamo_lite.symbolic_shapes.torch_node._torch import (
    METHOD_TO_OPERATOR,
    TorchSymNode,
    handle_sym_dispatch,
    make_fx_mode,
    sym_node,
)
from dynamo_lite.symbolic_shapes.torch_node.interfaces import Environment
from dynamo_lite.symbolic_shapes.torch_node.operators import BINARY, DIVISIONS, ROUNDINGS, SHIFTS, UNARY, Meaning

PYTYPES: dict[type, type] = {Int: int, Float: float}
"""Sort of ours -> Python type; every `Bool` is a bool."""


class SymNode(TorchSymNode):
    """One expression in one environment.

    Attributes:
        core: the `Int`, `Float` or `Bool`.
        shape_env: the `TorchShapeEnv`.
        pytype: int, float or bool.
        constant: the Python value if the expression is one, else None.
        layout: a question about memory layout, as kernels ask (see `TorchShapeEnv.inside_operator`).
    """

    shape_env: Environment
    fx_node = None
    _optimized_summation = False

    def __init__(self, core: Node, env: Environment, pytype: type, constant: Any, layout: bool) -> None:
        self.core: Any = core
        self.shape_env, self.pytype = env, pytype
        self.constant, self.layout = constant, layout
        self._memo: dict[Any, SymNode] = {}
        self._version = -1
        self._current = core
        self.known_hint: Any = constant

    # -- properties of the expression -----------------------------------------------------------------------
    @property
    def _expr(self) -> Any:
        """The sympy form as it was made."""
        return self.shape_env.to_sympy(self.core)

    @property
    def expr(self) -> Any:
        """The sympy form with known equalities substituted."""
        return self.shape_env.to_sympy(self.current())

    def current(self) -> Any:
        """The expression as the facts simplify it now."""
        version = self.shape_env.core.knowledge.version  # without the property: this runs for every size
        if self._version != version:
            self._current = self.shape_env.core.simplify(self.core)
            self._version = version
        return self._current

    @property
    def hint(self) -> Any:
        """The value in the example; None if an unbacked symbol is in it."""
        if self.known_hint is not None:
            return self.known_hint
        value = self.shape_env.hint_of(self.core)
        if value is not None and not any(symbol.unbacked for symbol in symbols_of(self.core)):
            self.known_hint = value  # that of an unbacked symbol comes from an equation, which may be rolled back
        return value

    @property
    def _hint(self) -> Any:
        return self.hint

    @_hint.setter
    def _hint(self, value: Any) -> None:
        pass  # torch stores here the value that it got from the environment: the same.

    def has_hint(self) -> bool:
        return self.hint is not None

    def is_int(self) -> bool:
        return self.pytype is int

    def is_float(self) -> bool:
        return self.pytype is float

    def is_bool(self) -> bool:
        return self.pytype is bool

    def is_symbolic(self) -> bool:
        return True

    def is_constant(self) -> bool:
        # torch takes the value of a constant by guard_int or guard_bool (sym_node.py, get_constant): not for floats.
        return self.constant is not None and self.pytype is not float

    def is_nested_int(self) -> bool:
        return False

    def nested_int(self) -> None:
        return None

    def maybe_as_int(self) -> int | None:
        if self.constant is not None:
            return int(self.constant)
        return self.current().as_constant() if self.pytype is int else None

    def maybe_as_float(self) -> float | None:
        value = self.current()
        return value.value if isinstance(value, Float) and value.op == "const" else None

    def maybe_as_bool(self) -> bool | None:
        return getattr(self.current(), "value", None) if self.pytype is bool else None

    def with_shape_env(self, shape_env: Any) -> SymNode:
        """The node of the same expression in another environment of ours. ValueError for one that lacks the symbols."""
        if shape_env is not self.shape_env:
            raise ValueError("an expression over symbols of one environment does not mean anything in another")
        return self

    def _value_eq(self, other: Any) -> bool:
        return self is other

    def _value_hash(self) -> int:
        return hash(self)

    def clone(self) -> SymNode:
        return self

    def __deepcopy__(self, memo: Any) -> SymNode:
        return self

    def str(self) -> builtins.str:
        return builtins.str(self.expr)

    def __str__(self) -> builtins.str:
        return self.str()

    def _graph_repr(self) -> builtins.str:
        return self.str()

    def __repr__(self) -> builtins.str:
        return f"SymNode({self.core}, {self.pytype.__name__}, hint={self.hint})"

    def wrap_int(self, num: int) -> SymNode:
        return self.shape_env.constant(num)

    def wrap_float(self, num: float) -> SymNode:
        return self.shape_env.constant(num)

    def wrap_bool(self, num: bool) -> SymNode:
        return self.shape_env.constant(num)

    # -- questions ------------------------------------------------------------------------------------------
    def evaluate(self, size_oblivious: bool = False) -> Any:
        return self.shape_env.evaluate_sym_node(self, size_oblivious)

    def guard_int(self, file: builtins.str, line: int) -> int:
        return int(self.shape_env.evaluate_sym_node(self))

    def guard_float(self, file: builtins.str, line: int) -> float:
        return float(self.shape_env.evaluate_sym_node(self))

    def guard_bool(self, file: builtins.str, line: int) -> bool:
        # Only C++ names a file; Python's own `bool` has none.
        return self.shape_env.evaluate_for_c(self) if file else bool(self.shape_env.evaluate_sym_node(self))

    def guard_size_oblivious(self, file: builtins.str, line: int) -> bool:
        return bool(self.shape_env.evaluate_sym_node(self, size_oblivious=True))

    def guard_or_false(self, file: builtins.str, line: int) -> bool:
        return self.shape_env.evaluate_for_torch(self, False)

    def guard_or_true(self, file: builtins.str, line: int) -> bool:
        return self.shape_env.evaluate_for_torch(self, True)

    def statically_known_true(self, file: builtins.str, line: int) -> bool:
        return self.shape_env.decide_node(self) is True

    def expect_true(self, file: builtins.str, line: int) -> bool:
        return self.shape_env.expect_true(self.core)

    def int_(self) -> int:
        return self.guard_int("", 0)

    def bool_(self) -> bool:
        return self.guard_bool("", 0)

    # -- operators with more or fewer than two nodes ----------------------------------------------------------
    def sym_ite(self, then_val: SymNode, else_val: SymNode) -> SymNode:
        if make_fx_mode() is not None:
            return self._traced(torch.sym_ite, self, then_val, else_val)
        a, b = then_val.core, else_val.core
        if isinstance(a, Bool):
            return self.shape_env.node(ite_bool(self.core, a, b))
        if isinstance(a, Float) or isinstance(b, Float):
            result = a if a is b else apply_float("float_ite", self.core, as_float(a), as_float(b))
            return self.shape_env.node(result)
        return self.shape_env.node(ite(self.core, a, b))

    def sym_sum(self, args: list[SymNode]) -> SymNode:
        if make_fx_mode() is not None:
            out = handle_sym_dispatch(torch.sym_sum, (tuple(map(wrap, args)),), {})
            return self.shape_env.node_of(out)
        total = as_int(0)
        for arg in args:
            total = total + (bool_to_int(arg.core) if isinstance(arg.core, Bool) else arg.core)
        return self.shape_env.node(total)

    def round(self, ndigits: int | None = None) -> SymNode:
        if make_fx_mode() is not None:
            return self.shape_env.node_of(handle_sym_dispatch(builtins.round, (wrap(self), ndigits), {}))
        core = self.core
        if ndigits is None:
            self.shape_env.require_finite(core, "round()")
        if isinstance(core, Float):
            result = round_float("round", core) if ndigits is None else \
                apply_float("round_digits", core, as_int(ndigits))
        else:
            result = core if ndigits is None else round_int(core, ndigits)
        return self.shape_env.node(result)

    def _traced(self, op: Any, *nodes: SymNode) -> SymNode:
        return self.shape_env.node_of(handle_sym_dispatch(op, tuple(map(wrap, nodes)), {}))

    # -- names that C++ uses for the same things ---------------------------------------------------------------
    def sym_or(self, other: SymNode) -> SymNode:
        return self.or_(other)

    def sym_and(self, other: SymNode) -> SymNode:
        return self.and_(other)

    def truediv(self, other: SymNode) -> SymNode:
        return self.float_truediv(other)

    def floordiv(self, other: SymNode) -> SymNode:
        return self.int_floordiv(other)

    def pow(self, other: SymNode) -> SymNode:
        return self.float_pow(other)

    def is_non_overlapping_and_dense(self, sizes: Any, strides: Any) -> SymNode:
        indicator = self.is_non_overlapping_and_dense_indicator(sizes, strides)
        return self.shape_env.node(eq(indicator.core, 1), layout=True)


def wrap(node: SymNode) -> Any:
    """The value a user holds: SymInt, SymFloat, SymBool, or the Python value of a constant."""
    if node.constant is not None:
        return node.constant
    if node.pytype is int:
        return torch.SymInt(node)
    return torch.SymBool(node) if node.pytype is bool else torch.SymFloat(node)


def _binary(name: str, meaning: Meaning) -> Callable[[SymNode, SymNode], SymNode]:
    operator = METHOD_TO_OPERATOR[name.rstrip("_")]
    divides, shifts, logical = name in DIVISIONS, name in SHIFTS, name in {"and_", "or_"}
    strides = name == "sym_max"

    def method(self: SymNode, other: SymNode) -> SymNode:
        if make_fx_mode() is not None:
            return self._traced(operator, self, other)
        if strides and other.constant == 1 and self.shape_env.context.in_kernel and self.shape_env.is_size(self.core):
            return self  # the strides of a tensor without elements, which are not read
        if divides:
            self.shape_env.require_divisor(other.core)
        elif shifts and isinstance(other.core, Int) and self.pytype is not float:
            self.shape_env.require(ge(other.core, 0), ValueError("negative shift count"))
        key = (name, other)
        found = self._memo.get(key)
        if found is None:
            layout = logical and (self.layout or other.layout)
            try:
                core = meaning(self.core, other.core)
            except TooManyTerms as error:
                self.shape_env.too_large(error)
                raise
            found = self._memo[key] = self.shape_env.node(core, layout=layout)
        return found

    return method


def _unary(name: str, meaning: Meaning) -> Callable[[SymNode], SymNode]:
    operator = METHOD_TO_OPERATOR.get(name)
    rounds = name in ROUNDINGS

    def method(self: SymNode) -> SymNode:
        if make_fx_mode() is not None:
            return self._traced(operator, self)
        if rounds:
            self.shape_env.require_finite(self.core, f"{name.removeprefix('sym_')}()")
        found = self._memo.get(name)
        if found is None:
            found = self._memo[name] = self.shape_env.node(meaning(self.core), layout=self.layout)
        return found

    return method


def _layout(name: str, question: Callable[..., Any]) -> Callable[..., SymNode]:
    def method(self: SymNode, sizes: list[SymNode], strides: list[SymNode]) -> SymNode:
        if make_fx_mode() is not None:
            user = getattr(sym_node, name)
            values = list(map(wrap, sizes)), list(map(wrap, strides))
            return self.shape_env.node_of(handle_sym_dispatch(user, values, {}))
        env = self.shape_env
        key = (name, *sizes, *strides)
        found = env.layouts.get(key)
        if found is None:
            core = question([s.core for s in sizes], [s.core for s in strides])
            found = env.layouts[key] = env.node(core, layout=True)
        return found

    return method


for _name, _meaning in BINARY.items():
    if _name.rstrip("_") not in METHOD_TO_OPERATOR:
        continue  # a method that the installed torch's nodes do not have
    setattr(SymNode, _name, _binary(_name, _meaning))
for _name, _meaning in UNARY.items():
    setattr(SymNode, _name, _unary(_name, _meaning))
for _name, _meaning in torch_layout.QUESTIONS.items():
    setattr(SymNode, _name, _layout(_name, _meaning))
