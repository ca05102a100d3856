"""z3's opinion on what follows: with a resource limit and a seed, so that no answer depends on the clock."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dynamo_lite.symbolic_shapes.expressions.expr import Apply, Int, Node, Symbol, symbols_of
from dynamo_lite.symbolic_shapes.expressions.relations import Bool, Junction, Rel, Truth, not_
from dynamo_lite.symbolic_shapes.expressions.substitution import substitute
from dynamo_lite.symbolic_shapes.size_guards.guard_set import SizeGuardSet

RLIMIT = 400_000
"""z3's resource units per question; about a tenth of a second, the same everywhere."""


class NotInZ3(Exception):
    """An operator that has no exact z3 meaning here (floats, symbolic powers, registered functions)."""


class ToZ3:
    """Expressions as z3 terms. z3's div is Euclidean, Python's rounds down; they agree for a positive divisor."""

    def __init__(self) -> None:
        import z3

        self._z3 = z3
        self._memo: dict[Node, Any] = {}
        self.at_zero = z3.Int("x//0")

    def __call__(self, node: Node) -> Any:
        found = self._memo.get(node)
        if found is None:
            found = self._memo[node] = self._convert(node)
        return found

    def ranges(self, symbols: Any) -> list[Any]:
        """The declared ranges as z3 constraints."""
        out = []
        for s in symbols:
            out += [self(s) >= s.lo] if isinstance(s.lo, int) else []
            out += [self(s) <= s.hi] if isinstance(s.hi, int) else []
        return out

    def _convert(self, node: Node) -> Any:
        z3 = self._z3
        if isinstance(node, Symbol):
            return z3.Int(f"{node.name}#{node.id}")
        if isinstance(node, Int):
            total = z3.IntVal(node.const)
            for mono, coef in node.terms.items():
                term = z3.IntVal(coef)
                for atom in mono:
                    term = term * self(atom)
                total = total + term
            return total
        if isinstance(node, Apply) and node.op in Z3_OPERATORS:
            return Z3_OPERATORS[node.op](self, *map(self, node.args))
        if isinstance(node, Truth):
            return z3.BoolVal(node.value)
        if isinstance(node, Rel):
            value = self(node.poly)
            return {"le": value <= 0, "eq": value == 0, "ne": value != 0}[node.kind]
        if isinstance(node, Junction):
            return (z3.And if node.kind == "and" else z3.Or)(*map(self, node.args))
        raise NotInZ3(f"{type(node).__name__} {node}")


def _floordiv(to: ToZ3, x: Any, d: Any) -> Any:
    z3 = to._z3
    return z3.If(d == 0, to.at_zero, z3.If(d > 0, x / d, (-x) / (-d)))


def _max(to: ToZ3, *args: Any) -> Any:
    best = args[0]
    for arg in args[1:]:
        best = to._z3.If(best >= arg, best, arg)
    return best


Z3_OPERATORS: dict[str, Callable[..., Any]] = {
    "floordiv": _floordiv, "max": _max, "ite": lambda to, c, a, b: to._z3.If(c, a, b),
}


def entails(premises: Sequence[Bool], conclusion: Bool, rlimit: int = RLIMIT) -> bool | None:
    """Whether z3 proves premises => conclusion (True), has a counterexample (False), or gives up (None)."""
    to = ToZ3()
    solver = to._z3.Solver()
    solver.set("rlimit", rlimit)
    solver.set("random_seed", 0)
    goals = [*premises, conclusion]
    solver.add(*to.ranges(frozenset().union(*map(symbols_of, goals))))
    solver.add(*(to(p) for p in premises), to(not_(conclusion)))
    result = solver.check()
    return True if result == to._z3.unsat else False if result == to._z3.sat else None


class Counterexample(AssertionError):
    """An assignment satisfies the one side and not the other."""


def equivalent(guards: SizeGuardSet) -> bool | None:
    """Whether the facts and the guards entail each other; None if z3 gives up on a part."""
    # Back from the guards the replaced symbols are substituted: their declared ranges are not to be assumed.
    axioms = [f.relation for f in guards.facts if f.kind == "axiom"]
    others = [g.relation for g in guards.guards if g.kind != "equality"]
    kept = [substitute(r, guards.images) for r in (*axioms, *others)]
    wanted = [substitute(r, guards.images) for r in guards.demands()]
    verdicts: list[bool | None] = []
    for premises, goals in (([f.relation for f in guards.facts], guards.relations), (kept, wanted)):
        for goal in goals:
            try:
                verdict = entails(premises, goal)
            except NotInZ3:
                verdict = None
            if verdict is False:
                raise Counterexample(str(goal))
            verdicts.append(verdict)
    return None if None in verdicts else True
