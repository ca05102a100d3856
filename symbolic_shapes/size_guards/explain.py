"""The reason for a guard: its lines, the facts it was made of, the facts it replaces, the consequence without it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dynamo_lite.symbolic_shapes.expressions.expr import Node
from dynamo_lite.symbolic_shapes.expressions.printer import default_name, to_python
from dynamo_lite.symbolic_shapes.proofs.facts import Fact
from dynamo_lite.symbolic_shapes.size_guards.codegen import GuardLine
from dynamo_lite.symbolic_shapes.size_guards.guard import Guards, SizeGuard

RULES_IN_WORDS = {
    "rewrite": "with the equal sizes put in",
    "decided": "derived",
    "residues": "seen for every residue",
    "weaker": "a weaker bound",
    "conjunct": "a part of it",
    "under a max": "every value under a bound of the maximum",
    "declared": "the declared range",
}
"""Derivation rules, as an explanation calls them."""

WHY_NEEDED = {
    ("guard", "division"): "the program divides by it; zero would raise",
    ("guard", "torch._check"): "the program asserts it",
    ("guard", "operator"): "the operator was traced for sizes for which it holds",
    ("guard", ""): "the trace took the path on which it holds; where it does not, the program goes another way",
    ("check", "division"): "the program divides by it; zero would raise",
    ("check", "operator"): "the operator demands it",
    ("check", ""): "the program asserts it",
    ("axiom", ""): "it holds by construction",
}
"""(kind of the fact, kind of its origin) -> why a guard from it has to be checked; "" for any other origin."""


def explain(guards: Guards, guard: SizeGuard | str, name: Callable[[Any], str] = default_name) -> str:
    """Several lines: the guard, each fact that it was made of with its origin, how, why it is needed, and which other
    facts it spares. `guard` may be given as it is printed. KeyError if there is none like it."""
    found = _find(guards, guard)

    def text(node: Node) -> str:
        return to_python(node, name)

    lines = [f"{text(found.relation)}    ({found.kind})"]
    for fact in guards.origins(found):
        lines.append(f"  from {text(fact.relation)}, {fact.origin}: {why_needed(fact)}")
    steps = [(r, d) for r, d in guards.forward.trace(found.relation) if d is not None]
    for relation, derivation in steps:
        sources = " and ".join(text(p) for p in derivation.premises)
        how = RULES_IN_WORDS[derivation.rule]
        lines.append(f"  {text(relation)}: {how}" + (f" from {sources}" if sources else ""))
    for fact in guards.spared(found):
        lines.append(f"  so that {text(fact.relation)} needs no check ({fact.origin})")
    return "\n".join(lines)


def explain_line(guards: Guards, line: GuardLine, name: Callable[[Any], str] = default_name) -> str:
    """The same for a line of code: for each guard that it states, and the declared range."""
    parts = [explain(guards, guard, name) for guard in line.guards]
    if line.symbol is not None:
        parts.append(f"{name(line.symbol)} has the range that it was declared with: {line.symbol.origin or 'its own'}")
    return "\n".join(parts)


def why_needed(fact: Fact) -> str:
    """The consequence if the fact does not hold."""
    return WHY_NEEDED.get((fact.kind, fact.origin.kind)) or WHY_NEEDED[fact.kind, ""]


def _find(guards: Guards, guard: SizeGuard | str) -> SizeGuard:
    if isinstance(guard, SizeGuard):
        return guard
    for candidate in guards.guards:
        if str(candidate) == guard:
            return candidate
    raise KeyError(f"no guard {guard!r}; there are: {', '.join(map(str, guards.guards))}")
