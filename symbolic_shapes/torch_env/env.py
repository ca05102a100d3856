"""TorchShapeEnv: torch's interface of a shape environment, over `dynamo_lite.symbolic_shapes.ShapeEnv`.

FakeTensorMode, meta kernels, decompositions and higher-order operators call it as torch's own ShapeEnv
(torch/fx/experimental/symbolic_shapes.py); expressions cross as sympy with torch's heads. This file has torch's names;
the work is done by its parts: `Expressions` (nodes, sympy), `InputSymbols`, `UnbackedSymbols`, `QueryContext` (the
origin of a query), `FactRecorder` and `Decisions` (the answer, and when it becomes a fact).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import sympy
import torch

from dynamo_lite.symbolic_shapes.environment import ShapeEnv
from dynamo_lite.symbolic_shapes.errors import ContradictoryFacts
from dynamo_lite.symbolic_shapes.proofs.facts import Fact, Origin
from dynamo_lite.symbolic_shapes.torch_env.answer_cache import Memo
from dynamo_lite.symbolic_shapes.torch_env.decisions import DataDependentError, Decisions
from dynamo_lite.symbolic_shapes.torch_env.expressions import Expressions
from dynamo_lite.symbolic_shapes.torch_env.inputs import InputSymbols
from dynamo_lite.symbolic_shapes.torch_env.recording import FactRecorder
from dynamo_lite.symbolic_shapes.torch_env.shared_history import Past
from dynamo_lite.symbolic_shapes.torch_env.unbacked import UnbackedSymbols
from dynamo_lite.symbolic_shapes.torch_env.views import BackedValues, Ranges, Replacements, runtime_asserts
from dynamo_lite.symbolic_shapes.torch_node._torch import RuntimeAssert, ShapeEnvSettings, ShapeGuard, SLoc
from dynamo_lite.symbolic_shapes.torch_node.client import Client
from dynamo_lite.symbolic_shapes.torch_node.query_kinds import QueryContext

_SKIPPED = (str(Path(torch.__file__).parent), str(Path(__file__).parents[1]))


def calling_line() -> Origin:
    """The innermost Python line outside of torch and of this package. A tracer gives its own `where`."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_SKIPPED):
        frame = frame.f_back
    return Origin("user line", frame.f_code.co_filename, frame.f_lineno)


class TorchShapeEnv:
    """See the module's docstring.

    Attributes:
        core: the `ShapeEnv` with the facts.
        where: returns the program's line for new facts and symbols.
        client: the trace, which receives events; None if there is none (client.py).
        refuted: the last `ContradictoryFacts` that a torch._check ran into (torch itself raises its own error).
        frozen: a new fact is an error from here on.
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
        self.settings = ShapeEnvSettings(
            allow_scalar_outputs=allow_scalar_outputs, allow_dynamic_output_shape_ops=allow_dynamic_output_shape_ops,
            assume_static_by_default=False, trace_asserts=False, duck_shape=duck_shape,
            specialize_zero_one=specialize_zero_one,
            prefer_deferred_runtime_asserts_over_guards=prefer_deferred_runtime_asserts_over_guards)
        self.allow_scalar_outputs = allow_scalar_outputs
        self.allow_dynamic_output_shape_ops = allow_dynamic_output_shape_ops
        self.duck_shape, self.specialize_zero_one = duck_shape, specialize_zero_one
        self.prefer_deferred_runtime_asserts_over_guards = prefer_deferred_runtime_asserts_over_guards
        self.core: ShapeEnv = core if core is not None else ShapeEnv()
        self.where: Callable[[], Origin] = where or calling_line
        self.client: Client | None = None
        self.refuted: ContradictoryFacts | None = None
        self.frozen = False
        self.values_taken = 0
        self.fake_tensor_cache = _NoCache()
        # What torch reads and assigns of symbols that an operator made (unbacked.py).
        self.pending_fresh_unbacked_symbols: list[Any] = []
        self.ignorable_fresh_unbacked_symbols: list[Any] = []
        self.unbacked_renamings: dict[Any, Any] = {}
        self.real_tensor_prop_unbacked_vals: dict[Any, Any] = {}
        self.unbacked_created = 0
        self.of_subgraphs: list[Fact] = []
        """What values that a sub-graph makes are to values outside of it, where the sub-graph runs."""
        self.float_origins: dict[Any, Origin] = {}
        expressions = Expressions(self, self.core)
        self._compose_values(expressions)
        self._compose_answers(expressions)

    def _compose_values(self, expressions: Expressions) -> None:
        """The parts that make values, and torch's names for their methods: bound methods, which add no call."""
        self.symbols, self.layouts = expressions.symbols, expressions.layouts
        self.to_sympy, self.from_sympy = expressions.to_sympy, expressions.from_sympy
        self.constant, self.node, self.node_of = expressions.constant, expressions.node, expressions.node_of
        self.wrap, self.unwrap, self.hint_of = expressions.wrap, expressions.unwrap, expressions.hint_of
        self.other_example = expressions.other_example
        self.create_symintnode = expressions.create_symintnode
        self.create_symfloatnode = expressions.create_symfloatnode
        self.create_symboolnode = expressions.create_symboolnode

        self._inputs = inputs = InputSymbols(self, expressions)
        self.size_like = inputs.size_like
        self.var_to_sources, self.source_to_var = inputs.var_to_sources, inputs.source_to_var
        self.input_size, self.input_integer = inputs.input_size, inputs.input_integer
        self._create_symbolic_sizes_strides_storage_offset = inputs.layout_of_input
        self.create_symbol, self.create_unspecified_symbol = inputs.create_symbol, inputs.create_unspecified_symbol
        self.create_unspecified_symint_and_symbol = inputs.create_unspecified_symint_and_symbol

        unbacked = UnbackedSymbols(self, expressions)
        self.create_unbacked_symint = unbacked.create_unbacked_symint
        self.create_unbacked_symfloat = unbacked.create_unbacked_symfloat
        self.create_unbacked_symbool = unbacked.create_unbacked_symbool
        self.is_unbacked_symint = unbacked.is_unbacked_symint
        self.ignore_fresh_unbacked_symbols = unbacked.ignore_fresh_unbacked_symbols
        self._rename_unbacked_to, self._eliminate_unbacked = unbacked.rename_to, unbacked.eliminate

    def _compose_answers(self, expressions: Expressions) -> None:
        """The parts that answer questions about values."""
        self.context = context = QueryContext()
        self.inside_operator, self.inside_torch, self.exactly = (
            context.inside_operator, context.inside_torch, context.exactly,
        )  # fmt: skip
        self.laying_out, self.copying, self.storing = context.laying_out, context.copying, context.storing

        self.memo = memo = Memo(self.core)
        self._recorder = recorder = FactRecorder(self, expressions, memo, context)
        self.expect_true, self.asked_at = recorder.expect_true, recorder.asked_at
        self.assume_answer = recorder.assume_answer
        self.demand, self.demand_equal = recorder.demand, recorder.demand_equal
        self.demand_if_sure = recorder.demand_if_sure
        self.require, self.require_divisor = recorder.require, recorder.require_divisor
        self.require_finite = recorder.require_finite
        self.suppress_guards: Callable[[], AbstractContextManager[None]] = recorder.suppress_guards
        self.error_on_new_guards: Callable[[], AbstractContextManager[None]] = recorder.error_on_new_guards
        self.guard_or_defer_runtime_assert = recorder.guard_or_defer_runtime_assert
        self.constrain_symbol_range = self._constrain_range = recorder.constrain_symbol_range
        self._constrain_range_for_size, self._constrain_unify = recorder.constrain_size, recorder.unify

        self._decisions = decisions = Decisions(self, expressions, memo, context, recorder)
        self.assuming_large = decisions.assuming_large
        self.derived_sizes = decisions.derived_sizes
        self.decide_node, self.evaluate_sym_node = decisions.decide_node, decisions.evaluate_sym_node
        self.evaluate_for_c, self.evaluate_for_torch = decisions.evaluate_for_c, decisions.evaluate_for_torch
        self.note_sizes, self.is_size = decisions.note_sizes, decisions.is_size
        self._maybe_evaluate_static = decisions.static
        self.replace, self.simplify, self.bound_sympy = decisions.replace, decisions.simplify, decisions.bound_sympy
        self._unknown = decisions.unknown

        self.past = memo.past = Past(self)

    def __deepcopy__(self, memo: Any) -> TorchShapeEnv:
        return self  # as torch's: FakeTensorMode and metadata refer to one environment

    def too_large(self, error: Exception) -> None:
        if self.client is not None:
            self.client.refuses_size(error)

    # -- the origin of a query ------------------------------------------------------------------------------------
    @property
    def operator(self) -> Any:
        """The OpOverload whose kernel is running, None while the program itself does."""
        return self.context.operator

    @property
    def asking(self) -> tuple[Any, ...]:
        """The origin of a query, as far as answers depend on it, and its assumption about sizes."""
        return *self.context.asking, self._decisions.large

    @property
    def is_assuming_large(self) -> bool:
        """Whether a kernel is run as for sizes from 2 on (larger_example.py)."""
        return self._decisions.large is not None

    @property
    def suppressed(self) -> bool:
        """Whether answers become no facts now (`suppress_guards`)."""
        return self._recorder.suppressing > 0

    # -- values in the example --------------------------------------------------------------------------------------
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

    def evaluate_expr(self, orig_expr: Any, hint: Any = None, fx_node: Any = None, size_oblivious: bool = False,
                      fallback_value: bool | None = None, *, forcing_spec: bool = False) -> Any:
        node = self.node(self.from_sympy(orig_expr))
        return sympy.sympify(self.evaluate_sym_node(node, size_oblivious, fallback_value))

    # -- what torch reads of the state ----------------------------------------------------------------------------
    @property
    def guards(self) -> list[Any]:
        """The answers taken from the example, as torch's ShapeGuards."""
        guards = (f for f in self.core.facts if f.kind == "guard")
        return [ShapeGuard(self.to_sympy(f.relation), SLoc(None, str(f.origin)), False) for f in guards]

    @property
    def deferred_runtime_asserts(self) -> dict[Any, list[RuntimeAssert]]:
        """The runtime assertions, by the newest unbacked symbol in each."""
        return runtime_asserts(self)

    @property
    def num_deferred_runtime_asserts(self) -> int:
        return sum(fact.kind == "check" for fact in self.core.facts)

    @property
    def var_to_range(self) -> Ranges:
        return Ranges(self)

    @property
    def backed_var_to_val(self) -> BackedValues:
        return BackedValues(self)

    @property
    def replacements(self) -> Replacements:
        return Replacements(self)

    @property
    def var_to_hint_override(self) -> dict[Any, int]:
        """Values other than the example's, for heuristics: there are none."""
        return {}

    @property
    def _replacements_version_counter(self) -> int:
        return self.memo.equations()

    @property
    def has_symbols(self) -> bool:
        """Whether any value is symbolic in this environment."""
        return bool(self.core.symbols) or self.unbacked_created > 0 or self._inputs.floats_created > 0

    # -- the rest of torch's interface ----------------------------------------------------------------------------
    def _suppress_guards_tls(self) -> bool:
        return self._recorder.suppressing > 0

    def _suppress_guards_enter(self) -> None:
        self._recorder.suppressing += 1

    def _suppress_guards_exit(self) -> None:
        self._recorder.suppressing -= 1

    def freeze(self) -> None:
        self.frozen = True

    def freeze_runtime_asserts(self) -> None:
        self.runtime_asserts_frozen = True

    def cleanup(self) -> None:
        """torch breaks reference cycles here; ours are interned nodes, which the environment owns."""

    def transfer_symbols_from_foreign_shape_env(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("a fake tensor of another shape environment: make it from the real tensor")

    def set_real_tensor_prop_unbacked_vals(self, k: Any, v: Any) -> None:
        raise NotImplementedError("propagation of real tensors beside the fake ones")

    def _constrain_is_bounded(self, a: Any, upper_bound: int) -> None:
        """The torch._check before it has the same effect already."""

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


__all__ = ["DataDependentError", "TorchShapeEnv", "calling_line"]
