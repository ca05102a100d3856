"""Joins and loops of the same sources, on each Python: the versions write different code for them."""

from __future__ import annotations

import textwrap
from typing import Any

import pytest

import dynamo_lite.interpreter.vm  # noqa: F401  (fills the table of handlers)
from dynamo_lite.interpreter.code.decode import info_of
from dynamo_lite.interpreter.code.normal_form import VERSION
from dynamo_lite.interpreter.flow import END, FlowGraph
from dynamo_lite.interpreter.flow.loops import exits_of, loop_at

SOURCES: dict[str, tuple[str, dict[int, Any]]] = {
    # line of a branch → (line of its join, lines that the loop goes round from and leaves to, or None)
    "if": (
        """
        if a: # 1
            x = 1
        return x
        """,
        {1: (3, None)},
    ),
    "if_else_return": (
        """
        if a: # 1
            x = 1
        else:
            x = 2
        return x
        """,
        {1: (5, None)},
    ),
    "early_return": (
        """
        if a: # 1
            return x
        return b
        """,
        {1: (END, None)},
    ),
    "the_same_return_twice": (
        """
        if a: # 1
            return x
        b = 1
        return x
        """,
        {1: (END, None)},
    ),
    "while": (
        """
        while a: # 1
            x = x + 1
        return x
        """,
        {1: (3, (2, 3))},
    ),
    "while_break": (
        """
        while a: # 1
            x = x + 1
            if b: # 3
                break
            x = x * 2
        return x
        """,
        {1: (6, (2, 6)), 3: (6, (5, 6))},
    ),
    "while_break_and_more": (
        """
        while a: # 1
            x = x + 1
            if b: # 3
                break
        y = x + 1
        return y
        """,
        {1: (5, (2, 5)), 3: (5, (1, 5))},
    ),
    "while_continue": (
        """
        while a: # 1
            x = x + 1
            if b: # 3
                continue
            x = x * 2
        return x
        """,
        {1: (6, (2, 6)), 3: (6, (1, 5)) if VERSION < (3, 14) else (1, None)},  # 3.14 tests at the head alone
    ),
    "while_true": (
        """
        while True:
            x = x + 1
            if a: # 3
                break
            x = x * 2
        return x
        """,
        {3: (6, (5, 6))},
    ),
    "while_if": (
        """
        while a: # 1
            if b: # 2
                x = 1
            else:
                x = 2
            x = x + 1
        return x
        """,
        {1: (7, (2, 7)), 2: (6, None)},
    ),
    "nested": (
        """
        while a: # 1
            while b: # 2
                x = x + 1
            x = x * 2
        return x
        """,
        {1: (5, (2, 5)), 2: (4, (3, 4))},
    ),
    "if_at_the_end_of_a_loop": (
        """
        while a: # 1
            x = x + 1
            if b: # 3
                x = x + 2
        return x
        """,
        {1: (5, (2, 5)), 3: (1, None)},
    ),
    "while_else": (
        """
        while a: # 1
            x = x + 1
            if b: # 3
                break
        else:
            x = 0
        return x
        """,
        {1: (7, (2, 6)), 3: (7, (1, 7))},
    ),
    "finally": (
        """
        try:
            if a: # 2
                x = 1
            else:
                x = 2
        finally:
            b = x
        return x
        """,
        {2: (7, None)},
    ),
    "nothing_returned": (
        """
        if a: # 1
            x.append(1)
        elif b: # 3
            x.append(2)
        """,
        {1: ("return", None), 3: ("return", None)},
    ),
    "for_break": (
        """
        for i in x:
            if a: # 2
                break
            b = i
        return b
        """,
        {2: (5, None)},
    ),
    "return_in_a_while": (
        """
        while a: # 1
            x = x + 1
            if b: # 3
                return b
        return x
        """,
        {1: (END, (2, 5)), 3: (END, (1, 4))},
    ),
}


def _flow(source: str) -> tuple[FlowGraph, list[int | None]]:
    space: dict[str, Any] = {}
    body = textwrap.indent(textwrap.dedent(source).strip("\n"), "    ")
    exec("def f(a, b, x):\n" + body, space)
    code = space["f"].__code__
    flow = FlowGraph(info_of(code))
    positions = [info_of(code).positions_at(code, index).lineno for index in range(len(flow.names))]
    return flow, [line and line - 1 for line in positions]


def _branches(flow: FlowGraph, lines: list[int | None]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for index, name in enumerate(flow.names):
        if name in ("POP_JUMP_IF_TRUE", "POP_JUMP_IF_FALSE"):
            found.setdefault(lines[index] or 0, []).append(index)
    return found


@pytest.mark.parametrize("name", SOURCES)
def test_joins_and_loops(name: str) -> None:
    source, expected = SOURCES[name]
    flow, lines = _flow(source)
    found = _branches(flow, lines)
    assert sorted(found) == sorted(expected)
    for line, (join, loop) in expected.items():
        first = found[line][0]
        at = flow.join(first)
        if join == "return":
            assert at != END and "RETURN_VALUE" in flow.names[at : at + 2]
        else:
            assert (at if at == END else lines[at]) == join, "join"
        loops = [loop_at(flow, branch, set()) for branch in found[line]]
        assert [one and (lines[one.again], lines[one.leave]) for one in loops] == [loop] * len(loops)


def test_what_is_the_same_is_run_the_same() -> None:
    flow, _ = _flow("while a:\n    if b:\n        break\nreturn x")
    returns = {at for at, name in enumerate(flow.names) if name == "RETURN_VALUE"}
    assert {flow.at(at) for at in returns} == {min(returns)}
    assert flow.places({min(returns)}) == returns


def test_equal_constants_of_other_types_are_not_the_same() -> None:
    flow, _ = _flow("if a:\n    return 1\nif b:\n    return True\nreturn 1.0")
    returned = [at for at, name in enumerate(flow.names) if name == "LOAD_CONST"]
    assert len({flow.at(at) for at in returned}) == len(returned) == 3


EXITS: dict[str, tuple[str, set[int]]] = {
    # the loop is at line 1 → the lines that its exits begin at
    "break": ("""
        for i in n: # 1
            if a:
                break
        return x
        """, set()),
    "break past else": ("""
        for i in n: # 1
            if a:
                break
        else:
            x = 1
        return x
        """, {3}),
    "return": ("""
        for i in n: # 1
            if a:
                return x
        return x + 1
        """, {3}),
    "return and break": ("""
        for i in n: # 1
            if a:
                return x
            if b:
                x = 2
                break
        return x + 1
        """, {3}),
    "return out of two": ("""
        for i in n: # 1
            for j in n:
                if a:
                    return x
        return x + 1
        """, {4}),
    "raise": ("""
        for i in n: # 1
            if a:
                raise x
        return x + 1
        """, set()),
}  # fmt: skip


@pytest.mark.parametrize("name", EXITS)
def test_exits_of_a_for(name: str) -> None:
    source, lines = EXITS[name]
    space: dict[str, Any] = {}
    exec("def f(n, a, b, x):\n" + textwrap.indent(textwrap.dedent(source).lstrip("\n"), "    "), space)
    info = info_of(space["f"].__code__)
    flow = FlowGraph(info)
    at = flow.names.index("FOR_ITER")
    exits = exits_of(flow, at + 1, {at}, flow.successors[at][1], set())
    assert {info.positions_at(space["f"].__code__, exit).lineno - 1 for exit in exits} == lines
