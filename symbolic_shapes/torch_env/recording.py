"""Facts that an environment records for torch: decisions by the example, torch._check, ranges that operators declare.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from dynamo_lite.symbolic_shapes.errors import ContradictoryFacts
from dynamo_lite.symbolic_shapes.expressions.expr import Apply, Int, Symbol, as_int, symbols_of
from dynamo_lite.symbolic_shapes.expressions.float_relations import compare
from dynamo_lite.symbolic_shapes.expressions.floats import Float, float_const
from dynamo_lite.symbolic_shapes.expressions.piecewise import ite_bool
from dynamo_lite.symbolic_shapes.expressions.relations import Bool, Rel, Truth, as_bool, eq, ne, not_, or_
from dynamo_lite.symbolic_shapes.expressions.substitution import substitute
from dynamo_lite.symbolic_shapes.proofs.facts import Fact, Origin
from dynamo_lite.symbolic_shapes.prover.unsat_core import smallest
from dynamo_lite.symbolic_shapes.torch_env.answer_cache import Memo
from dynamo_lite.symbolic_shapes.torch_env.expressions import Expressions
from dynamo_lite.symbolic_shapes.torch_node._torch import _ShapeEnvGuardError, int_oo
from dynamo_lite.symbolic_shapes.torch_node.interfaces import Environment
from dynamo_lite.symbolic_shapes.torch_node.query_kinds import PROGRAM, QueryContext
from dynamo_lite.symbolic_shapes.torch_node.ranges import int_end, range_relations


class FactRecorder:
    """Adds facts to an environment: answers taken from the example, assertions of the program, ranges."""

    def __init__(self, env: Environment, expressions: Expressions, memo: Memo, context: QueryContext) -> None:
        self._env = env
        self._expressions = expressions
        self._memo = memo
        self._context = context
        self.core, self.hint_of = expressions.core, expressions.hint_of
        self.suppressing = 0
        self._fail_on_new = False

    def expect_true(
        self,
        relation: Any,
        kind: str = "torch._check",
        error: Exception | None = None,
        origin: Callable[[], Origin] | None = None,
    ) -> bool:
        """torch._check: False if it cannot hold (the caller raises), else True, and it is a fact from here on.

        A guard if the example decides it, else something that run time asserts. `kind` is that of its origin; `error`
        what Python raises of its own accord where it does not hold. origin: where it is checked, if that is known.
        """
        verdict = self._memo.decide(relation)
        if verdict is True:
            return True
        if verdict is False:
            facts = smallest(relation, self.core.decide(relation).facts)
            self._env.refuted = ContradictoryFacts(relation, self._checked_at(kind), facts)
            return False
        value = self.hint_of(relation)
        if value is False:
            self.record(not_(relation), "guard")
            return False
        env, operator = self._env, self._context.operator
        if value is None and not self.suppressing:
            if operator is not None:
                if not self._is_of_result(relation):
                    self.defers(str(operator))
            elif error is not None:
                self.defers(f"Python ({error})", type(error))
        deferred = value is None or env.settings.prefer_deferred_runtime_asserts_over_guards
        self.record(relation, "check" if deferred else "guard", origin or (lambda: self._checked_at(kind)))
        return True

    def _is_of_result(self, relation: Any) -> bool:
        """Whether all unbacked symbols are of the operator's own result, which its kernel keeps in bounds."""
        known = self._expressions.symbols.from_sympy
        fresh = {known.get(symbol) for symbol in self._env.pending_fresh_unbacked_symbols}
        return all(symbol in fresh for symbol in symbols_of(relation) if symbol.unbacked)

    def demand(self, relation: Any) -> bool:
        """`expect_true` for a condition that an operator checks in eager as well, raising if it does not hold."""
        origin = replace(self.asked_at(), eager_raises=True)
        return self.expect_true(relation, origin=lambda: origin)

    def demand_if_sure(self, one: Any, other: Any) -> bool:
        """`demand` that two sizes are equal, if neither can be 1 where they are not. False if that is not known."""
        relation = eq(one, other)
        if all(self._memo.decide(or_(relation, ne(size, 1))) is True for size in (one, other)):
            return self.demand(relation)
        return False

    def demand_equal(self, one: Any, other: Any) -> bool:
        """`expect_true` of two sizes that are equal, or of which eager expands one if it is 1."""
        return self.demand_if_sure(one, other) or self.expect_true(eq(one, other))

    def defers(self, what: str, *errors: type[Exception]) -> None:
        """A check that an operator, or Python's arithmetic, makes of its arguments is left to run time."""
        if self._env.client is not None:
            self._env.client.before_deferring(what, frozenset(errors))

    def _checked_at(self, kind: str) -> Origin:
        """Where the program checks something, or an operator its arguments."""
        if self._context.inside == PROGRAM:
            return replace(self._env.where(), kind=kind)
        return replace(self.asked_at(), eager_raises=True)

    def asked_at(self) -> Origin:
        """The program's line of the query; with the operator, if it is made by one."""
        line = self._env.where()
        operator = self._context.operator
        if operator is None:
            return line
        note = f"in {operator}" if not line.note else f"in {operator}, {line.note}"
        return replace(line, kind="operator", note=note)

    def guard_or_defer_runtime_assert(self, orig_expr: Any, msg: str, fx_node: Any = None) -> bool:
        return self.expect_true(self._expressions.from_sympy(orig_expr))

    def require(self, relation: Any, error: Exception, kind: str = "user line") -> None:
        """A demand of Python itself on an operation: raises `error` if it does not hold in the traced run.

        It is a fact if the program performs the operation. A kernel's own arithmetic (on strides, mostly) is not done
        at run time: there the real kernel runs, and raises its own errors.
        """
        if relation is as_bool(True):
            return
        if self._context.inside != PROGRAM:
            if self._memo.decide(relation) is False or self.hint_of(relation) is False:
                raise error
        elif not self.expect_true(relation, kind, error):
            raise error

    def require_finite(self, number: Any, what: str) -> None:
        """It is made an integer, which Python refuses for nan and infinities."""
        if isinstance(number, Float) and self._context.inside == PROGRAM and self.hint_of(number) is None:
            self.defers(what, ValueError, OverflowError)

    def require_divisor(self, divisor: Any) -> None:
        """A division by it is performed. ZeroDivisionError if it is zero in the traced run."""
        if isinstance(divisor, Int):
            self.require(not_(eq(divisor, 0)), ZeroDivisionError("integer division or modulo by zero"), "division")
        elif isinstance(divisor, Float):
            self.require(not_(float_equals(divisor, 0.0)), ZeroDivisionError("float division by zero"), "division")
        else:
            self.require(divisor, ZeroDivisionError("integer division or modulo by zero"), "division")

    def record(self, relation: Bool, kind: str, origin: Callable[[], Origin] | None = None) -> None:
        if not self.suppressing:
            self._add_fact(relation, (origin or self.asked_at)(), kind)

    def assume_answer(self, relation: Bool, origin: Origin) -> None:
        """Record the example's decision of a condition in the program as a guard."""
        self.record(relation, "guard", lambda: origin)

    def _add_fact(self, relation: Any, origin: Origin, kind: str) -> Fact | None:
        if self._env.client is not None and self._env.client.abandons is not None:
            self._env.client.abandons()
        if self._fail_on_new or self._env.frozen:
            raise _ShapeEnvGuardError(f"{relation} would become a fact, at {origin}, when no new ones are allowed")
        fact = None
        for part in factors_nonzero(without_choices(relation)):
            fact = self.core.assume(part, origin, kind)
        return fact

    @contextmanager
    def suppress_guards(self) -> Iterator[None]:
        """Within, no answer becomes a fact. Torch rebuilds known tensors so."""
        self.suppressing += 1
        try:
            yield
        finally:
            self.suppressing -= 1

    @contextmanager
    def error_on_new_guards(self) -> Iterator[None]:
        before, self._fail_on_new = self._fail_on_new, True
        try:
            yield
        finally:
            self._fail_on_new = before

    # -- ranges that operators declare ----------------------------------------------------------------------------
    def constrain_symbol_range(self, s: Any, compiler_min: Any, compiler_max: Any) -> None:
        """min <= s <= max, asserted at run time. ContradictoryFacts if that cannot be."""
        node = self._expressions.from_sympy(s)
        for relation in range_relations(node, int_end(compiler_min), int_end(compiler_max)):
            self.record(relation, "check", lambda: Origin("operator", note="range of its result"))

    def constrain_size(self, a: Any, min: int | None = None, max: int | None = None) -> None:
        low, high = 0 if min is None else min, int_oo if max is None else max
        if high < low:
            raise ValueError(f"the range [{low}, {high}] is empty")
        self.constrain_symbol_range(a, low, high)
        node = self._expressions.symbols.from_sympy.get(a)
        if isinstance(node, Symbol):
            self._env.size_like.add(node)

    def unify(self, a: Any, b: Any) -> None:
        if not self.expect_true(eq(self._expressions.unwrap(a), self._expressions.unwrap(b))):
            raise ValueError(f"{a} and {b} cannot be equal")


def float_equals(node: Float, value: float) -> Bool:
    """node == value, as Python compares floats."""
    return compare("eq", node, float_const(value))


def without_choices(relation: Any) -> Any:
    """`(4 if n > 8 else 2) == 2` as `n <= 8`: a choice that the relation decides is its condition."""
    if not isinstance(relation, Rel):
        return relation
    if relation.kind == "eq" and (size := _of_maximum(relation)) is not None:
        return size
    choices = [atom for mono in relation.poly.terms for atom in mono if isinstance(atom, Apply) and atom.op == "ite"]
    for choice in choices:
        condition, then, other = choice.args
        if_so, if_not = (substitute(relation, {choice: as_int(value)}) for value in (then, other))  # type: ignore[arg-type]
        if isinstance(if_so, Truth) or isinstance(if_not, Truth):
            return without_choices(ite_bool(condition, if_so, if_not))  # type: ignore[arg-type]
    return relation


def _of_maximum(relation: Rel) -> Any:
    """`min(6, n) == 4` as `n == 4`: a number that the maximum (or minimum) is not, is not it. None for others."""
    terms = relation.poly.terms
    ((mono, factor),) = terms.items() if len(terms) == 1 else (((), 0),)
    if len(mono) != 1 or abs(factor) != 1 or not isinstance(mono[0], Apply) or mono[0].op != "max":
        return None
    value = -relation.poly.const * factor
    sizes: Any = mono[0].args
    numbers = [size.as_constant() for size in sizes]
    others = [size for size, number in zip(sizes, numbers) if number is None]
    if len(others) != 1 or any(number is not None and number >= value for number in numbers):
        return None
    return eq(others[0], value)


def factors_nonzero(relation: Any) -> list[Any]:
    """a*b != 0 as a != 0 and b != 0, of which each settles more questions; other relations as they are."""
    if not isinstance(relation, Rel) or relation.kind != "ne" or relation.poly.const or len(relation.poly.terms) != 1:
        return [relation]
    ((mono, _),) = relation.poly.terms.items()
    return [ne(atom.as_int(), 0) for atom in dict.fromkeys(mono)]
