"""The control-flow graph of one code object, over the instructions of `CodeInfo.ops` by index.

An exception is not an edge: a branch side that raises has no join. Only liveness (`live_variables`) follows the edges
to exception handlers, so that no variable is missed that a handler reads.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final

from dynamo_lite.interpreter.code.decode import CodeInfo, ExceptionHandler
from dynamo_lite.interpreter.code.handler_table import HANDLERS
from dynamo_lite.interpreter.flow.tails import equal_tails

END: Final = -1
"""The return of the frame, as an instruction that all ways come to."""

TESTS: Final = ("POP_JUMP_IF_TRUE", "POP_JUMP_IF_FALSE")
_BRANCHES: Final = frozenset(
    {*TESTS, "POP_JUMP_IF_NONE", "POP_JUMP_IF_NOT_NONE", "JUMP_IF_TRUE_OR_POP", "JUMP_IF_FALSE_OR_POP", "FOR_ITER"}
)


class FlowGraph:
    """The control flow of one code object; made when its first branch on data is met.

    Attributes:
        names: the name of each instruction in the normal form.
        args: its argument.
        successors: the instructions that may follow each.
        same: for each instruction the first one with an equal path to the return (tails.py). Joins, loops and
            successors are determined by these.
    """

    def __init__(self, info: CodeInfo) -> None:
        names = {fn: name for name, fn in HANDLERS.items()}
        self.names = [names[handler] for handler, _ in info.ops]
        self.args = [arg for _, arg in info.ops]
        code = info.code
        self._handlers: list[ExceptionHandler | None] = [None] * len(info.ops)
        if code.co_exceptiontable:
            self._handlers = [info.handler_at(code, index) for index in range(len(info.ops))]
        following = [self._successors(index) for index in range(len(info.ops))]
        places = [info.positions_at(code, index) for index in range(len(info.ops))]
        self.same = equal_tails(self.names, self.args, following, self._handlers, places, END)
        self.successors = [tuple(self.at(other) for other in others) for others in following]

    def _successors(self, index: int) -> tuple[int, ...]:
        name, arg = self.names[index], self.args[index]
        if name == "RETURN_VALUE":
            return (END,)
        if name in ("RAISE_VARARGS", "RERAISE"):
            return ()
        if name == "JUMP":
            return (arg,)
        if name in _BRANCHES:
            return (index + 1, arg)
        if name == "SEND":
            return (index + 1, arg[0])
        return (index + 1,) if index + 1 < len(self.names) else ()

    def at(self, index: int) -> int:
        """The instruction that represents `index`."""
        return END if index == END else self.same[index]

    def places(self, indices: Iterable[int]) -> set[int]:
        """All instructions that are represented by these."""
        wanted = set(indices)
        return {index for index, first in enumerate(self.same) if first in wanted}

    @cached_property
    def predecessors(self) -> dict[int, list[int]]:
        """The instructions that each (and END) may follow."""
        found: dict[int, list[int]] = {}
        for index, following in enumerate(self.successors):
            for other in following:
                found.setdefault(other, []).append(index)
        return found

    @cached_property
    def returning(self) -> set[int]:
        """The instructions from which the frame can return."""
        found, todo = {END}, [END]
        while todo:
            for index in self.predecessors.get(todo.pop(), ()):
                if index not in found:
                    found.add(index)
                    todo.append(index)
        return found

    # -- joins

    @cached_property
    def _joins(self) -> dict[int, int]:
        return post_dominators(self.successors, self.predecessors, END)

    def join(self, branch: int) -> int:
        """The immediate post-dominator: what every way from `branch` that does not raise comes to first."""
        return self._joins.get(branch, END)

    def joins_after(self, join: int) -> Iterator[int]:
        """The joins behind a join, up to END."""
        while join != END:
            join = self.join(join)
            yield join

    # -- variables

    @cached_property
    def _live(self) -> list[int]:
        return live_variables(self.names, self.args, self.successors, self._handlers, END)

    def live(self, at: int) -> int:
        """A bit for each variable (by its index in the frame's locals) that may be read from `at` on before it is
        set."""
        return 0 if at == END else self._live[at]

    # -- ways

    def reach(self, start: int, avoiding: set[int]) -> set[int]:
        """The instructions on ways from `start` to a return that do not come to one of `avoiding`."""
        if start in avoiding or start == END:
            return set()
        found, todo = {start}, [start]
        while todo:
            for other in self.successors[todo.pop()]:
                if other not in found and other not in avoiding and other != END and other in self.returning:
                    found.add(other)
                    todo.append(other)
        return found

    def end_of_jumps(self, at: int) -> int:
        """The target of an instruction, through any chain of jumps (3.12 closes a loop with a jump of its own)."""
        seen: set[int] = set()
        while at != END and self.names[at] == "JUMP" and at not in seen:
            seen.add(at)
            at = self.args[at]
        return self.at(at)

    def targets(self, branch: int) -> tuple[int, ...]:
        """The two places that a branch leads to: (if it does not jump, if it does)."""
        return tuple(map(self.end_of_jumps, self.successors[branch]))


_graphs: dict[int, tuple[weakref.ref[CodeInfo], FlowGraph]] = {}


def flow_of(info: CodeInfo) -> FlowGraph:
    """The graph of a code object, made once."""
    known = _graphs.get(id(info))
    if known is None or known[0]() is not info:
        known = _graphs[id(info)] = (weakref.ref(info), FlowGraph(info))
    return known[1]


# Immediate post-dominators, by the algorithm of Cooper, Harvey and Kennedy ("A Simple, Fast Dominance Algorithm").


def post_dominators(
    successors: Sequence[tuple[int, ...]], predecessors: Mapping[int, list[int]], end: int
) -> dict[int, int]:
    """Node → the first node that every way from it to `end` comes to. Nodes that do not reach `end` are left out."""
    order = _postorder(predecessors, end)
    number = {node: index for index, node in enumerate(order)}
    above: dict[int, int] = {end: end}
    changed = True
    while changed:
        changed = False
        for node in reversed(order):
            if node == end:
                continue
            new: int | None = None
            for other in successors[node]:
                if other in above and other in number:
                    new = other if new is None else _meet(new, other, above, number)
            if new is not None and above.get(node) != new:
                above[node] = new
                changed = True
    return above


def _postorder(predecessors: Mapping[int, list[int]], end: int) -> list[int]:
    """The nodes that reach `end`, in postorder of a walk against the edges."""
    order: list[int] = []
    seen = {end}
    stack: list[tuple[int, Iterator[int]]] = [(end, iter(predecessors.get(end, ())))]
    while stack:
        node, rest = stack[-1]
        following = next((other for other in rest if other not in seen), None)
        if following is None:
            order.append(node)
            stack.pop()
        else:
            seen.add(following)
            stack.append((following, iter(predecessors.get(following, ()))))
    return order


def _meet(a: int, b: int, above: Mapping[int, int], number: Mapping[int, int]) -> int:
    while a != b:
        while number[a] < number[b]:
            a = above[a]
        while number[b] < number[a]:
            b = above[b]
    return a


# Which variables may be read before they are set: the usual backward analysis, with a bit for each variable.

_READS = frozenset(
    {"LOAD_FAST", "LOAD_FAST_AND_CLEAR", "DELETE_FAST", "MAKE_CELL",
     "LOAD_DEREF", "STORE_DEREF", "DELETE_DEREF", "LOAD_FROM_DICT_OR_DEREF"}
)  # fmt: skip
"""Instructions that need the contents of a variable's place: its value, or its cell."""


def live_variables(
    names: Sequence[str],
    args: Sequence[Any],
    successors: Sequence[tuple[int, ...]],
    handlers: Sequence[ExceptionHandler | None],
    end: int,
) -> list[int]:
    """For each instruction the variables that are live before it. An exception may lead from each to its handler."""
    count = len(names)
    live = [0] * count
    changed = True
    while changed:
        changed = False
        for index in range(count - 1, -1, -1):
            found = 0
            for other in successors[index]:
                if other != end:
                    found |= live[other]
            if names[index] == "STORE_FAST":
                found &= ~(1 << args[index])
            elif names[index] in _READS:
                found |= 1 << args[index]
            handler = handlers[index]
            if handler is not None:
                found |= live[handler.target]
            if found != live[index]:
                live[index] = found
                changed = True
    return live
