"""TorchShapeEnv: the face that torch expects of a shape environment, over `dynamo_lite.symbolic_shapes.ShapeEnv`.

FakeTensorMode, meta kernels, decompositions and higher-order operators talk to it as to torch's own ShapeEnv
(torch/fx/experimental/symbolic_shapes.py); expressions cross as sympy with torch's heads. What it answers comes from
`core`: proved facts, else the example's values, which then become facts with the program's line.

What is answered without a fact, and why that is sound:
- Within `suppress_guards` torch rebuilds what it knows already (a tensor's own sizes); nothing is recorded there.
- Strides are products of sizes, where torch has max(1, size): the two differ only for tensors without elements, whose
  strides mean nothing. (`SymNode.sym_max`; the program's own `stride()` excludes such tensors.)
- A kernel that asks `guard_or_false` and gets false (or `guard_or_true` and true), `guard_size_oblivious`, or about
  memory layout, within `inside_operator`, is right with that answer for every size: torch's contract of these
  questions. (Bindings such as Tensor.contiguous ask about layout before any operator runs; the program itself asks
  within `exactly`.) So if the answer is the same for all sizes from 2 on, it is given without excluding 0 and 1.
  `KERNELS` (query_kinds.py) has the operators for which more or less than that holds. Questions that the program
  itself asks are exact.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import sympy
import torch

from dynamo_lite.symbolic_shapes.environment import ShapeEnv
from dynamo_lite.symbolic_shapes.errors import DataDependentQuestion, UnknownValue
from dynamo_lite.symbolic_shapes.expressions.expr import Int, Symbol
from dynamo_lite.symbolic_shapes.expressions.floats import Float
from dynamo_lite.symbolic_shapes.expressions.relations import Bool, eq, not_
from dynamo_lite.symbolic_shapes.proofs.facts import Origin
from dynamo_lite.symbolic_shapes.torch_env.recording import FactRecording, float_equals
from dynamo_lite.symbolic_shapes.torch_env.shared_history import Past
from dynamo_lite.symbolic_shapes.torch_node._torch import GuardOnDataDependentSymNode, ShapeEnvSettings
from dynamo_lite.symbolic_shapes.torch_node.query_kinds import CHOICE, EXACT, LAYOUT_ONLY, PROGRAM, QueryContext
from dynamo_lite.symbolic_shapes.torch_node.sym_node import SymNode

_SKIPPED = (str(Path(torch.__file__).parent), str(Path(__file__).parents[1]))


def calling_line() -> Origin:
    """The innermost Python line outside of torch and of this package. A tracer that interprets knows better."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_SKIPPED):
        frame = frame.f_back
    return Origin("user line", frame.f_code.co_filename, frame.f_lineno)


class DataDependentError(GuardOnDataDependentSymNode):
    """What torch code catches (`GuardOnDataDependentSymNode`), with the question as we ask it.

    `question` is a `DataDependentQuestion` or, where a number was needed, an `UnknownValue`.
    """

    def __init__(self, cond: Any, question: DataDependentQuestion | UnknownValue) -> None:
        super().__init__(cond, str(question))
        self.question = question


class TorchShapeEnv(FactRecording):
    """See the module's docstring.

    Attributes:
        core: the `ShapeEnv` with the facts.
        where: gives the program's line for new facts and symbols.
        unanswered: called with the `DataDependentError` of a question that the program itself asked; what it raises
            the program cannot catch. The questions of kernels, which may catch it, raise it as it is.
        refuses_size: called with the error of an operation whose result is too large to be written down; what it
            raises the program cannot catch.
        specialized: called with an expression and its value in the example, where the program takes the value.
        past: answers of environments with the same history (shared_history.py).
        values_taken: how often a number was taken of a symbolic expression.
    """

    _translation_validation_enabled = False
    should_record_events = False
    is_recording = False
    tracked_fakes: list[Any] | None = None
    runtime_asserts_frozen = False

    def __init__(self, core: ShapeEnv | None = None, *, where: Callable[[], Origin] | None = None,
                 allow_scalar_outputs: bool = True, allow_dynamic_output_shape_ops: bool = True,
                 duck_shape: bool = False, specialize_zero_one: bool = False,
                 prefer_deferred_runtime_asserts_over_guards: bool = False) -> None:
        settings = ShapeEnvSettings(
            allow_scalar_outputs=allow_scalar_outputs, allow_dynamic_output_shape_ops=allow_dynamic_output_shape_ops,
            assume_static_by_default=False, trace_asserts=False, duck_shape=duck_shape,
            specialize_zero_one=specialize_zero_one,
            prefer_deferred_runtime_asserts_over_guards=prefer_deferred_runtime_asserts_over_guards)
        super().__init__(core if core is not None else ShapeEnv(), where or calling_line, settings)
        QueryContext.__init__(self)
        self.unanswered: Callable[[DataDependentError], Any] | None = None
        self.refuses_size: Callable[[Exception], Any] | None = None
        self.specialized: Callable[[Any, Any], None] | None = None
        self.derived_sizes: dict[Any, Int] = {}
        self.values_taken = 0
        self.fake_tensor_cache = _NoCache()
        self.past = self.memo.past = Past(self)

    def __deepcopy__(self, memo: Any) -> TorchShapeEnv:
        return self  # as torch's: FakeTensorMode and metadata refer to one environment

    def too_large(self, error: Exception) -> None:
        if self.refuses_size is not None:
            self.refuses_size(error)

    # -- hints ----------------------------------------------------------------------------------------------------
    def guarding_hint_or_throw(self, expr: Any) -> Any:
        node = self.from_sympy(expr)
        value = self.hint_of(node)
        if value is None:
            raise self._unknown(node, self.where())
        return value

    def has_guarding_hint(self, expr: Any) -> bool:
        return self.hint_of(self.from_sympy(expr)) is not None

    def size_hint(self, expr: Any, *, allow_none: bool = False) -> Any:
        value = self.hint_of(self.from_sympy(expr))
        if value is None and not allow_none:
            raise self._unknown(self.from_sympy(expr), self.where())
        return None if value is None else sympy.sympify(value)

    def optimization_hint(self, expr: Any, fallback: int | None = None) -> int:
        """A number for heuristics; nothing may be decided by it."""
        value = self.hint_of(self.from_sympy(expr))
        return value if value is not None else 8192 if fallback is None else fallback

    # -- questions ------------------------------------------------------------------------------------------------
    def decide_node(self, node: SymNode) -> bool | None:
        """What the facts say of a bool, without the example: True, False or None."""
        return node.constant if node.constant is not None else self.memo.decide(node.core)

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
        verdict = self.memo.decide(relation)
        if verdict is not None:
            return verdict
        value = sym_node.hint
        if self._inside == CHOICE and value is not None and fallback_value is not None:
            return value
        if self._indifferent(sym_node, value, size_oblivious, fallback_value):
            answer = self.memo.decide_large(relation, self.size_like, self.derived_sizes)
            if answer is not None and value in (None, answer):
                return answer
        if value is not None:
            self._record(relation if value else not_(relation), "guard")
            return value
        if fallback_value is not None:
            return fallback_value
        origin = self.where()
        question = DataDependentQuestion(relation, origin, self.core.ranges_of(relation))
        error = self._asked(DataDependentError(self.to_sympy(self.core.simplify(relation)), question))
        value = self.hint_of(relation)  # whoever was asked may have found the numbers of the example
        if value is None:
            raise error
        return value

    def _asked(self, error: DataDependentError) -> DataDependentError:
        if self._inside == PROGRAM and self.unanswered is not None:
            self.unanswered(error)
        return error

    def evaluate_for_c(self, sym_node: SymNode) -> bool:
        """`guard_bool` as C++ calls it. In a function of torch's own a binding asks what to call (`contiguous`)."""
        if self._inside != PROGRAM or self._exact or not self._in_torch:
            return bool(self.evaluate_sym_node(sym_node))
        with self.inside_operator(torch.ops.aten.contiguous.default):
            return bool(self.evaluate_sym_node(sym_node))

    def evaluate_for_torch(self, sym_node: SymNode, fallback_value: bool) -> bool:
        """`guard_or_false` and `guard_or_true` as C++ calls them: a kernel or a binding asks, never the program."""
        if self._inside != PROGRAM or self._exact:
            return bool(self.evaluate_sym_node(sym_node, fallback_value=fallback_value))
        with self.inside_operator():
            return bool(self.evaluate_sym_node(sym_node, fallback_value=fallback_value))

    def _indifferent(self, sym_node: SymNode, value: Any, size_oblivious: bool, fallback_value: bool | None) -> bool:
        """Whether who asks is right with the answer for large sizes also at 0 and 1 (see the module's docstring)."""
        if value is None:
            # An unbacked size: torch's own rule, and layout in kernels.
            return size_oblivious or (sym_node.layout and not self._exact)
        if self._inside in (PROGRAM, EXACT):
            return sym_node.layout and not self._exact
        return size_oblivious or sym_node.layout or self._inside in (LAYOUT_ONLY, CHOICE) or value == fallback_value

    def _value(self, sym_node: SymNode) -> Any:
        node = sym_node.current()
        if isinstance(node, Float):
            value = self.hint_of(node)
            if value is None:
                raise self._unknown(node, self.where())
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
        if value is None:
            error = self._unknown(node, self.where())
            value = self.hint_of(node)  # as in evaluate_sym_node
            if value is None:
                raise error
            return value
        self._fix(eq(node, value), node, value)
        return value

    def _fix(self, equality: Bool, node: Any, value: Any) -> None:
        """The value of an expression was taken: a guard."""
        self.values_taken += 1
        if self.specialized is not None and not self._suppressed:
            self.specialized(node, value)
        self._record(equality, "guard")

    def _unknown(self, node: Any, origin: Origin) -> DataDependentError:
        question = UnknownValue(node, origin, self.core.ranges_of(node))
        return self._asked(DataDependentError(self.to_sympy(node), question))

    def evaluate_expr(self, orig_expr: Any, hint: Any = None, fx_node: Any = None, size_oblivious: bool = False,
                      fallback_value: bool | None = None, *, forcing_spec: bool = False) -> Any:
        node = self.node(self.from_sympy(orig_expr))
        return sympy.sympify(self.evaluate_sym_node(node, size_oblivious, fallback_value))

    def _maybe_evaluate_static(self, expr: Any, *, unbacked_only: bool = False, compute_hint: bool = False,
                               size_oblivious: bool = False, axioms: Any = None, var_to_range: Any = None) -> Any:
        """What is known without the example, as sympy; None if nothing is."""
        node = self.from_sympy(expr)
        if compute_hint:
            value = self.hint_of(node)
            return None if value is None else sympy.sympify(value)
        if unbacked_only:
            return self.to_sympy(self.core.simplify(node))
        if isinstance(node, Bool):
            verdict = self.memo.decide(node)
            if verdict is None and size_oblivious:
                verdict = self.memo.decide_large(node, self.size_like, self.derived_sizes)
            return None if verdict is None else sympy.sympify(verdict)
        node = self.core.simplify(node)
        if isinstance(node, Float):
            return sympy.Float(node.value) if node.op == "const" else None
        lo, hi = self.core.bounds(node)
        return sympy.Integer(lo) if lo == hi else None

    # -- sizes of tensors -----------------------------------------------------------------------------------------
    def note_sizes(self, shape: Sequence[Any]) -> None:
        """A tensor has these sizes: questions about 0 and 1 may be about them, as about symbols (`decide_large`)."""
        for size in shape:
            if isinstance(size, torch.SymInt):
                core = self.node_of(size).current()
                if len(core.terms) == 1:
                    ((mono, coefficient),) = core.terms.items()
                    if coefficient == 1 and len(mono) == 1 and not isinstance(mono[0], Symbol):
                        self.derived_sizes.setdefault(mono[0], core)

    def is_size(self, node: Any) -> bool:
        """Whether an expression is a product of sizes: never negative, whatever they are."""
        if not isinstance(node, Int) or node.const or len(node.terms) != 1:
            return False
        ((mono, coefficient),) = node.terms.items()
        return coefficient > 0 and all(isinstance(a, Symbol) and (a.lo >= 0 or a in self.size_like) for a in mono)

    # -- the rest of torch's interface ----------------------------------------------------------------------------
    def freeze_runtime_asserts(self) -> None:
        self.runtime_asserts_frozen = True

    def cleanup(self) -> None:
        """torch breaks reference cycles here; ours are interned nodes, which the environment owns."""

    def _create_fx_call_function(self, op: Any, args: Any) -> tuple[None, bool]:
        return None, False

    def _update_version_counter(self) -> None:
        """The core counts."""


class _NoCache:
    """torch's own cache of symbolic operators would rebuild its own nodes on our symbols: this one holds nothing."""

    def get(self, key: Any, default: Any = None) -> Any:
        return default

    def __setitem__(self, key: Any, value: Any) -> None:
        pass
