"""What torch reads of an environment: its settings, ranges, guards, and expressions in their simplest form."""

from __future__ import annotations

from typing import Any

import sympy

from dynamo_lite.symbolic_shapes.expressions.expr import INF
from dynamo_lite.symbolic_shapes.expressions.floats import Float, float_interval
from dynamo_lite.symbolic_shapes.expressions.relations import Bool
from dynamo_lite.symbolic_shapes.torch_env.inputs import Inputs
from dynamo_lite.symbolic_shapes.torch_env.unbacked import Unbacked
from dynamo_lite.symbolic_shapes.torch_env.views import BackedValues, Ranges, Replacements, runtime_asserts
from dynamo_lite.symbolic_shapes.torch_node._torch import RuntimeAssert, ShapeGuard, SLoc, ValueRanges
from dynamo_lite.symbolic_shapes.torch_node.ranges import int_ranges


class TorchQueries(Inputs, Unbacked):
    """The part of torch's ShapeEnv that decides nothing."""

    # -- settings that torch reads -------------------------------------------------------------------------------
    @property
    def allow_scalar_outputs(self) -> bool:
        return self.settings.allow_scalar_outputs

    @property
    def allow_dynamic_output_shape_ops(self) -> bool:
        return self.settings.allow_dynamic_output_shape_ops

    @property
    def has_symbols(self) -> bool:
        """Whether any value is symbolic in this environment."""
        return bool(self.core.symbols) or self.unbacked_created > 0 or self._input_floats > 0

    @property
    def duck_shape(self) -> bool:
        return self.settings.duck_shape

    @property
    def specialize_zero_one(self) -> bool:
        return self.settings.specialize_zero_one

    @property
    def prefer_deferred_runtime_asserts_over_guards(self) -> bool:
        return self.settings.prefer_deferred_runtime_asserts_over_guards

    # -- what torch reads of the state ----------------------------------------------------------------------------
    @property
    def guards(self) -> list[Any]:
        """The answers taken from the example, as torch's ShapeGuards."""
        guards = (f for f in self.core.facts if f.kind == "guard")
        return [ShapeGuard(self.to_sympy(f.relation), SLoc(None, str(f.origin)), False) for f in guards]

    @property
    def deferred_runtime_asserts(self) -> dict[Any, list[RuntimeAssert]]:
        """What run time asserts, by the newest unbacked symbol in it."""
        return runtime_asserts(self._env())

    @property
    def num_deferred_runtime_asserts(self) -> int:
        return sum(fact.kind == "check" for fact in self.core.facts)

    @property
    def var_to_range(self) -> Ranges:
        return Ranges(self._env())

    @property
    def backed_var_to_val(self) -> BackedValues:
        return BackedValues(self._env())

    @property
    def replacements(self) -> Replacements:
        return Replacements(self._env())

    @property
    def var_to_hint_override(self) -> dict[Any, int]:
        """Other numbers than the example's, for heuristics: there are none."""
        return {}

    @property
    def _replacements_version_counter(self) -> int:
        return self.memo.equations()

    def replace(self, expr: Any) -> Any:
        return self.to_sympy(self.core.simplify(self.from_sympy(expr)))

    def simplify(self, expr: Any, size_oblivious: bool = False) -> Any:
        return self.replace(expr)

    def bound_sympy(self, expr: Any, size_oblivious: bool = False) -> Any:
        """torch's ValueRanges of an expression."""
        node = self.from_sympy(expr)
        if isinstance(node, Bool):
            truth = self.memo.decide(node)
            return ValueRanges(sympy.false if truth is None else sympy.sympify(truth),
                               sympy.true if truth is None else sympy.sympify(truth))
        if isinstance(node, Float):
            lo, hi = float_interval(node, self.core.bounds)
            return ValueRanges(sympy.Float(lo) if lo != -INF else -sympy.oo, sympy.Float(hi) if hi != INF else sympy.oo)
        return int_ranges(*self.core.bounds(node))
