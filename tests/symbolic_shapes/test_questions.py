"""A question that only run time can answer: what its error names, and that either line it suggests settles it.

And what asking leaves behind: nothing under suppression, nothing after a rollback, however they are nested.
"""

from __future__ import annotations

import ast
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynamo_lite.symbolic_shapes import (
    Bool,
    ContradictoryFacts,
    DataDependentQuestion,
    Int,
    Origin,
    ShapeEnv,
    UnknownValue,
    as_bool,
    compare_floats,
    eq,
    float_symbol,
    not_,
)
from dynamo_lite.symbolic_shapes.errors import StaleSnapshot
from tests.symbolic_shapes.oracle import COMPARE, Term, our_node

HERE = Origin("user line", "model.py", 7, "if u > v:")
OPERATORS: dict[type, str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "pow", ast.Div: "f/",
    ast.Lt: "<", ast.LtE: "<=", ast.Eq: "==", ast.NotEq: "!=", ast.Gt: ">", ast.GtE: ">=", ast.And: "and", ast.Or: "or",
    ast.USub: "neg", ast.Not: "not",
}


def read(node: ast.AST) -> Term:
    """A Python expression as a term of the oracle, as Python reads it."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.BinOp):
        return (OPERATORS[type(node.op)], read(node.left), read(node.right))
    if isinstance(node, ast.UnaryOp):
        return (OPERATORS[type(node.op)], read(node.operand))
    if isinstance(node, ast.Compare):
        assert len(node.ops) == 1
        return (OPERATORS[type(node.ops[0])], read(node.left), read(node.comparators[0]))
    if isinstance(node, ast.IfExp):
        return ("ite", read(node.test), read(node.body), read(node.orelse))
    if isinstance(node, ast.BoolOp):
        return _left_to_right(OPERATORS[type(node.op)], node.values)
    assert isinstance(node, ast.Call), ast.dump(node)
    assert isinstance(node.func, ast.Name)
    return _left_to_right(node.func.id, node.args) if len(node.args) > 1 else (node.func.id, read(node.args[0]))


def _left_to_right(op: str, parts: list[ast.expr]) -> Term:
    term = read(parts[0])
    for part in parts[1:]:
        term = (op, term, read(part))
    return term


def checked(line: str, sizes: dict[str, Int]) -> Bool:
    """What a line `torch._check(...)` says."""
    call = ast.parse(line, mode="eval").body
    assert isinstance(call, ast.Call) and ast.unparse(call.func) == "torch._check"
    return as_bool(our_node(read(call.args[0]), sizes))


LEAVES = st.one_of(st.sampled_from(("u0", "u1", "u2")), st.integers(-4, 8))
TERMS = st.recursive(LEAVES, lambda t: st.one_of(
    st.tuples(st.sampled_from(("+", "-", "*", "//", "%", "max", "min")), t, t), st.tuples(st.just("abs"), t),
    st.tuples(st.just("ite"), st.tuples(st.sampled_from(COMPARE), t, t), t, t),
    st.tuples(st.just("pow"), t, st.integers(0, 2))), max_leaves=5)
RELATIONS = st.recursive(st.tuples(st.sampled_from(COMPARE), TERMS, TERMS), lambda r: st.one_of(
    st.tuples(st.sampled_from(("and", "or")), r, r), st.tuples(st.just("not"), r)), max_leaves=3)
FACTS = st.lists(RELATIONS, max_size=2)


def environment(facts: list[Term]) -> tuple[ShapeEnv, dict[str, Int]]:
    env = ShapeEnv()
    sizes = {f"u{i}": env.unbacked(size_like=i > 0, origin=Origin("operator", note=f"made by {i}")) for i in range(3)}
    for fact in facts:
        env.assume(as_bool(our_node(fact, sizes)))
    return env, sizes


@settings(max_examples=120, deadline=None)
@given(FACTS, RELATIONS)
def test_either_suggested_line_settles_the_question(facts: list[Term], term: Term) -> None:
    try:
        env, sizes = environment(facts)
        question = as_bool(our_node(term, sizes))
        env.evaluate(question, HERE)
    except (ContradictoryFacts, ZeroDivisionError):
        return
    except DataDependentQuestion as error:
        text = str(error)
        assert "model.py:7" in text and "`if u > v:`" in text and str(question) in text
        for symbol in error.ranges:
            assert f"{symbol.name}: known at run time only, range" in text and str(symbol.origin) in text
        before = env.snapshot()
        for line, truth in zip(error.suggestions, (True, False)):
            assert line in text
            relation = checked(line, sizes)
            try:
                env.assume(relation)
            except ContradictoryFacts:  # that it follows was too much for decide, and not for what came with the fact
                pass
            else:
                assert env.decide(question).verdict is truth, line
                assert env.evaluate(question, HERE) is truth
            env.rollback(before)


def test_a_float_from_run_time_is_named() -> None:
    env = ShapeEnv()
    scale = float_symbol("zuf0")
    n = env.backed(4)
    with pytest.raises(DataDependentQuestion) as info:
        env.evaluate(compare_floats("le", scale * 2.0, n), HERE)
    assert "zuf0: a float known at run time only" in str(info.value)
    assert "s0: 4 in the example" in str(info.value)


def test_a_value_that_is_not_known_names_the_symbols() -> None:
    env = ShapeEnv()
    u = env.unbacked(size_like=True, hi=9, source="mask.nonzero().size()[0]", origin=Origin("operator", note="nonzero"))
    with pytest.raises(UnknownValue) as info:
        env.value_of(2 * u, HERE)
    for part in ("2*u0", "model.py:7", "[0, 9]", "mask.nonzero().size()[0]", "operator nonzero"):
        assert part in str(info.value)


# -- suppression and rollback ------------------------------------------------------------------------------------------
ACTIONS = st.recursive(
    st.one_of(st.tuples(st.just("evaluate"), RELATIONS), st.tuples(st.just("assume"), RELATIONS),
              st.tuples(st.just("add_fact"), RELATIONS),
              st.tuples(st.just("value"), TERMS), st.tuples(st.just("decide"), RELATIONS)),
    lambda a: st.one_of(st.tuples(st.just("suppressed"), st.lists(a, max_size=4)),
                        st.tuples(st.just("undone"), st.lists(a, max_size=4))), max_leaves=6)
REFUSED = (ContradictoryFacts, ZeroDivisionError, DataDependentQuestion, UnknownValue, OverflowError)


def perform(env: ShapeEnv, sizes: dict[str, Int], action: Any, silent: bool = False) -> None:
    """Do it; under suppression no fact is recorded, and what is undone leaves nothing."""
    kind, what = action
    log, bounds = list(env.facts), {n: env.bounds(s) for n, s in sizes.items()}
    if kind == "suppressed":
        with env.suppressed():
            for inner in what:
                perform(env, sizes, inner, silent=True)
        assert env.facts == log
    elif kind == "undone":
        mark = env.snapshot()
        for inner in what:
            perform(env, sizes, inner, silent)
        env.rollback(mark)
        assert env.facts == log
        assert {n: env.bounds(s) for n, s in sizes.items()} == bounds
    else:
        try:
            node = our_node(what, sizes)
            {"evaluate": env.evaluate, "assume": env.assume, "add_fact": env.add_fact,
             "value": env.value_of, "decide": env.decide}[kind](node)
        except REFUSED:  # the divisor is zero in the example: that it raises is the way the program went, and a guard
            assert env.facts == log
        if silent or kind == "decide":
            assert env.facts == log
            assert {n: env.bounds(s) for n, s in sizes.items()} == bounds


@settings(max_examples=60, deadline=None)
@given(st.lists(ACTIONS, max_size=3), st.lists(RELATIONS, max_size=3))
def test_what_is_suppressed_or_undone_leaves_no_trace(actions: list[Any], questions: list[Term]) -> None:
    """Afterwards the environment answers as one that was never asked."""
    plain, probe = (ShapeEnv(), ShapeEnv())
    sizes, others = ({f"u{i}": env.backed(i + 2, name=f"u{i}", lo=0) for i in range(3)} for env in (plain, probe))
    for action in actions:
        perform(probe, others, ("undone", [action]))
        perform(probe, others, ("suppressed", [action]))
    assert not probe.facts
    for term in questions:
        try:
            expected = plain.decide(as_bool(our_node(term, sizes))).verdict
        except ZeroDivisionError:
            continue
        assert probe.decide(as_bool(our_node(term, others))).verdict is expected


def test_a_snapshot_within_a_rolled_back_one_is_stale() -> None:
    env = ShapeEnv()
    u = env.unbacked(lo=0)
    outer = env.snapshot()
    env.assume(u <= 9)
    inner = env.snapshot()
    env.assume(u <= 5)
    env.rollback(inner)
    assert env.bounds(u) == (0, 9)
    env.rollback(outer)
    env.assume(u <= 7)  # another fact at the same place
    with pytest.raises(StaleSnapshot):
        env.rollback(inner)
    assert env.bounds(u) == (0, 7)
    env.rollback(outer)
    assert env.facts == []


def test_a_value_or_divisor_under_suppression_is_no_fact() -> None:
    env = ShapeEnv()
    n = env.backed(6, lo=0)
    with env.suppressed():
        assert env.value_of(n + 1) == 7
        with env.suppressed():
            assert env.evaluate(eq(n, 6)) is True
        assert env.assume(n <= 9) is None
    assert env.facts == [] and env.decide(not_(eq(n, 0))).verdict is None
    assert env.evaluate(n > 3, HERE) is True and len(env.facts) == 1
