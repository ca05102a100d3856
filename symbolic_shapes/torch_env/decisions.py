"""Decides questions about sizes: by the facts, else by the example's value, which becomes a fact.

Cases decided without a fact, and why that is sound:
- Within `suppress_guards` torch rebuilds known values (a tensor's own sizes); nothing is recorded there.
- Strides are products of sizes, where torch has max(1, size): the two differ only for tensors without elements, whose
  strides are irrelevant. (`SymNode.sym_max`; the program's own `stride()` excludes such tensors.)
- A kernel that calls `guard_or_false` and gets false (or `guard_or_true` and true), `guard_size_oblivious`, or checks
  memory layout, within `inside_operator`, is right with that outcome for every size: torch's contract of these
  functions. (Bindings such as Tensor.contiguous check layout before any operator runs; the program's own checks are
  within `exactly`.) So if the outcome is the same for all sizes from 2 on, it is used without excluding 0 and 1.
  `KERNELS` (query_kinds.py) has the operators for which more or less than that holds. Questions of the program
  itself are exact.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import sympy
import torch

from dynamo_lite.symbolic_shapes.errors import DataDependentQuestion, UnknownValue
from dynamo_lite.symbolic_shapes.expressions.expr import INF, Atom, Int, Symbol
from dynamo_lite.symbolic_shapes.expressions.floats import Float, float_interval
from dynamo_lite.symbolic_shapes.expressions.relations import Bool, Rel, eq, ge, not_
from dynamo_lite.symbolic_shapes.proofs.facts import Origin
from dynamo_lite.symbolic_shapes.torch_env.answer_cache import Memo
from dynamo_lite.symbolic_shapes.torch_env.expressions import Expressions
from dynamo_lite.symbolic_shapes.torch_env.recording import FactRecorder, float_equals
from dynamo_lite.symbolic_shapes.torch_node._torch import GuardOnDataDependentSymNode, ValueRanges
from dynamo_lite.symbolic_shapes.torch_node.interfaces import Environment
from dynamo_lite.symbolic_shapes.torch_node.query_kinds import CHOICE, EXACT, LAYOUT_ONLY, PROGRAM, QueryContext
from dynamo_lite.symbolic_shapes.torch_node.ranges import int_ranges
from dynamo_lite.symbolic_shapes.torch_node.sym_node import SymNode


def _is_equation(relation: Any) -> bool:
    return isinstance(relation, Rel) and relation.kind == "eq"


class DataDependentError(GuardOnDataDependentSymNode):
    """The error that torch code catches (`GuardOnDataDependentSymNode`), with our form of the question.

    `question` is a `DataDependentQuestion` or, if a number was needed, an `UnknownValue`.
    """

    def __init__(self, cond: Any, question: DataDependentQuestion | UnknownValue) -> None:
        super().__init__(cond, str(question))
        self.question = question


class Decisions:
    """The truth of relations and the values of expressions in the traced run, and their cost (module's docstring).

    Attributes:
        derived_sizes: atoms that occur in sizes of tensors, with the size (`Memo.decide_large`).
        large: that the sizes of the arguments are 2 or more, while a kernel is run as for such (larger_example.py).
    """

    def __init__(self, env: Environment, expressions: Expressions, memo: Memo, context: QueryContext,
                 recorder: FactRecorder) -> None:
        self._env = env
        self._expressions = expressions
        self._memo = memo
        self._context = context
        self._recorder = recorder
        self.core, self.hint_of, self.to_sympy = expressions.core, expressions.hint_of, expressions.to_sympy
        self.derived_sizes: dict[Any, Int] = {}
        self.large: Bool | None = None
        self._noted: set[Int] = set()

    def decide_node(self, node: SymNode) -> bool | None:
        """The truth of a bool by the facts, without the example: True, False or None."""
        return node.constant if node.constant is not None else self._memo.decide(node.core)

    def evaluate_sym_node(self, sym_node: SymNode, size_oblivious: bool = False,
                          fallback_value: bool | None = None) -> Any:
        """The value in this run: proved, else the example's (which becomes a fact), else the fallback.

        DataDependentError if there is none of them.
        """
        if sym_node.constant is not None:
            return sym_node.constant
        if sym_node.pytype is not bool:
            return self._value(sym_node)
        relation: Any = sym_node.core
        verdict = self._memo.decide(relation)
        if verdict is not None:
            return verdict
        value = sym_node.hint
        if self._context.inside == CHOICE and value is not None and fallback_value is not None:
            return value
        if self._indifferent(sym_node, value, size_oblivious, fallback_value):
            answer = self._memo.decide_large(relation, self._env.size_like, self.derived_sizes)
            if answer is None and self.large is not None:
                answer = self._memo.decide_under(self.large, relation)
            if answer is not None and value in (None, answer):
                return answer
        if value is not None:
            self._recorder.record(relation if value else not_(relation), "guard")
            return value
        if fallback_value is not None:
            return fallback_value
        origin = self._env.where()
        question = DataDependentQuestion(relation, origin, self.core.ranges_of(relation))
        error = self._reported(DataDependentError(self.to_sympy(self.core.simplify(relation)), question))
        value = self.hint_of(relation)  # `on_undecided` may have found the numbers of the example,
        if value is None:
            value = self._memo.decide(relation)  # or have made a fact of it
        if value is None:
            raise error
        return value

    @contextmanager
    def assuming_large(self, large: Bool) -> Iterator[None]:
        """Within, kernels are answered as for sizes that satisfy `large`, where either answer will do for them."""
        before, self.large = self.large, large
        try:
            yield
        finally:
            self.large = before

    def _reported(self, error: DataDependentError) -> DataDependentError:
        context = self._context
        if context.inside == PROGRAM and not context.lays_out and self._env.client is not None:
            self._env.client.on_undecided(error)
        return error

    def evaluate_for_c(self, sym_node: SymNode) -> bool:
        """`guard_bool` as C++ calls it. In a function of torch's own a binding may choose its callee (`contiguous`)."""
        if self._context.inside != PROGRAM or self._context.is_exact or not self._context.in_torch:
            return bool(self.evaluate_sym_node(sym_node))
        with self._context.inside_operator(torch.ops.aten.contiguous.default):
            return bool(self.evaluate_sym_node(sym_node))

    def evaluate_for_torch(self, sym_node: SymNode, fallback_value: bool) -> bool:
        """`guard_or_false` and `guard_or_true` as C++ calls them: for a kernel or a binding, never for the program."""
        if self._context.inside != PROGRAM or self._context.is_exact:
            return bool(self.evaluate_sym_node(sym_node, fallback_value=fallback_value))
        if self._context.stores and _is_equation(sym_node.core):
            if sym_node.hint is True:
                return True
            self._context.stores = False  # what follows is about a value that is expanded
        with self._context.inside_operator():
            return bool(self.evaluate_sym_node(sym_node, fallback_value=fallback_value))

    def _indifferent(self, sym_node: SymNode, value: Any, size_oblivious: bool, fallback_value: bool | None) -> bool:
        """Whether the answer for large sizes is right for this query at 0 and 1 too (see the module's docstring)."""
        context = self._context
        about_layout = sym_node.layout and not context.is_exact
        if value is None:
            # An unbacked size: torch's own rule, and layout in kernels.
            lays_out = context.lays_out and context.inside == PROGRAM
            return size_oblivious or lays_out or about_layout
        if context.inside in (PROGRAM, EXACT):
            return about_layout
        return size_oblivious or sym_node.layout or context.inside in (LAYOUT_ONLY, CHOICE) or value == fallback_value

    def _value(self, sym_node: SymNode) -> Any:
        node = sym_node.current()
        if isinstance(node, Float):
            value = self.hint_of(node)
            if value is None and (value := self._for_text(sym_node)) is not None:
                return value
            if value is None:
                raise self.unknown(node, self._env.where())
            if node.op != "const":
                self._fix(float_equals(node, value), node, value)
            return value
        constant = node.as_constant()
        if constant is not None:
            return constant
        lo, hi = self.core.bounds(node)
        if lo == hi:
            return int(lo)
        value = sym_node.hint
        if value is None and (value := self._for_text(sym_node)) is not None:
            return value
        if value is None:
            error = self.unknown(node, self._env.where())
            value = self.hint_of(node)  # as in evaluate_sym_node
            if value is None:
                raise error
            return value
        self._fix(eq(node, value), node, value)
        return value

    def _for_text(self, sym_node: SymNode) -> Any:
        """A number of which C code makes a text that has not been read yet; None otherwise."""
        client = self._env.client
        return client.for_text(sym_node) if client is not None and self._context.inside == PROGRAM else None

    def _fix(self, equality: Bool, node: Any, value: Any) -> None:
        """The value of an expression was taken: a guard."""
        env = self._env
        env.values_taken += 1
        if env.client is not None and not self._recorder.suppressing:
            env.client.specialized(node, value)
        self._recorder.record(equality, "guard")

    def unknown(self, node: Any, origin: Origin) -> DataDependentError:
        question = UnknownValue(node, origin, self.core.ranges_of(node))
        return self._reported(DataDependentError(self.to_sympy(node), question))

    # -- sizes of tensors -----------------------------------------------------------------------------------------
    def note_sizes(self, shape: Sequence[Any]) -> None:
        """A tensor has these sizes: questions about 0 and 1 may be about them, as about symbols (`decide_large`)."""
        for size in shape:
            if isinstance(size, torch.SymInt):
                core = self._expressions.node_of(size).current()
                self._noted.add(core)
                if len(core.terms) == 1:
                    ((mono, coefficient),) = core.terms.items()
                    if coefficient == 1 and len(mono) == 1:
                        self._note_size(mono[0], core)

    def _note_size(self, atom: Atom, size: Int) -> None:
        """`size` is `atom` and a number: of a symbol the smallest counts, if it is less than the symbol (`x[1:]`)."""
        if not isinstance(atom, Symbol):
            self.derived_sizes.setdefault(atom, size)
        elif size.const < min(0, self.derived_sizes[atom].const if atom in self.derived_sizes else 0):
            self.derived_sizes[atom] = size

    def is_size(self, node: Any) -> bool:
        """Whether an expression is a product of sizes, or that of a dimension: never negative, whatever they are."""
        if node in self._noted and self._memo.decide(ge(node, 0)) is True:
            return True
        if not isinstance(node, Int) or node.const or len(node.terms) != 1:
            return False
        ((mono, coefficient),) = node.terms.items()
        return coefficient > 0 and all(isinstance(a, Symbol) and (a.lo >= 0 or a in self._env.size_like) for a in mono)

    # -- without the example --------------------------------------------------------------------------------------
    def static(self, expr: Any, *, unbacked_only: bool = False, compute_hint: bool = False,
               size_oblivious: bool = False, axioms: Any = None, var_to_range: Any = None) -> Any:
        """torch's `_maybe_evaluate_static`: the value known without the example, as sympy; None if there is none."""
        node = self._expressions.from_sympy(expr)
        if compute_hint:
            value = self.hint_of(node)
            return None if value is None else sympy.sympify(value)
        if unbacked_only:
            return self.to_sympy(self.core.simplify(node))
        if isinstance(node, Bool):
            verdict = self._memo.decide(node)
            if verdict is None and size_oblivious:
                verdict = self._memo.decide_large(node, self._env.size_like, self.derived_sizes)
            return None if verdict is None else sympy.sympify(verdict)
        node = self.core.simplify(node)
        if isinstance(node, Float):
            return sympy.Float(node.value) if node.op == "const" else None
        lo, hi = self.core.bounds(node)
        return sympy.Integer(lo) if lo == hi else None

    def replace(self, expr: Any) -> Any:
        return self.to_sympy(self.core.simplify(self._expressions.from_sympy(expr)))

    def simplify(self, expr: Any, size_oblivious: bool = False) -> Any:
        return self.replace(expr)

    def bound_sympy(self, expr: Any, size_oblivious: bool = False) -> Any:
        """torch's ValueRanges of an expression."""
        node = self._expressions.from_sympy(expr)
        if isinstance(node, Bool):
            truth = self._memo.decide(node)
            return ValueRanges(sympy.false if truth is None else sympy.sympify(truth),
                               sympy.true if truth is None else sympy.sympify(truth))
        if isinstance(node, Float):
            lo, hi = float_interval(node, self.core.bounds)
            return ValueRanges(sympy.Float(lo) if lo != -INF else -sympy.oo, sympy.Float(hi) if hi != INF else sympy.oo)
        return int_ranges(*self.core.bounds(node))
