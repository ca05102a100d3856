"""Instructions with equal paths to the return of the frame.

CPython 3.12 and 3.13 write a short end of a function once for each path that reaches it (inline_small_exit_blocks in
Python/flowgraph.c; all versions do so with a `finally`): then no instruction is common to the paths, though they meet.
Two instructions without a loop behind them are equal if they were written for the same place in the source, do the
same, and are followed by equal instructions. (The same operation alone is not enough: `x = 1` and `x = 2` would meet
within the statement. The `return None` at the end of a function has no place of its own.)
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from dynamo_lite.interpreter.code.decode import ExceptionHandler


def equal_tails(
    names: Sequence[str],
    args: Sequence[Any],
    successors: Sequence[tuple[int, ...]],
    handlers: Sequence[ExceptionHandler | None],
    places: Sequence[Hashable],
    end: int,
) -> list[int]:
    """For each instruction the first that is the same; itself, if a loop or a `raise` may follow."""
    same = list(range(len(names)))
    first: dict[Hashable, int] = {}
    for index in _from_the_end(successors, end):
        following = tuple(end if other == end else same[other] for other in successors[index])
        if names[index] == "JUMP":
            same[index] = following[0]
            continue
        argument = _argument(names[index], args[index], successors[index])
        place = None if _returns_none(names, args, index) else places[index]
        same[index] = first.setdefault((names[index], argument, following, handlers[index], place), index)
    return same


def _returns_none(names: Sequence[str], args: Sequence[Any], index: int) -> bool:
    """Whether this is one of the two instructions of `return None`."""
    at = index - 1 if names[index] == "RETURN_VALUE" else index
    loads = names[at] == "LOAD_CONST" and args[at] is None
    return loads and at + 1 < len(names) and names[at + 1] == "RETURN_VALUE"


def _from_the_end(successors: Sequence[tuple[int, ...]], end: int) -> list[int]:
    """The instructions from which every way comes to the return without a loop, each behind what follows it."""
    before: dict[int, list[int]] = {}
    left = [len(set(others) - {end}) for others in successors]
    for index, others in enumerate(successors):
        for other in set(others):
            before.setdefault(other, []).append(index)
    order = [index for index in before.get(end, ()) if not left[index]]
    for index in order:
        for other in before.get(index, ()):
            left[other] -= 1
            if not left[other]:
                order.append(other)
    return order


def _argument(name: str, arg: Any, following: tuple[int, ...]) -> Hashable:
    """A key that distinguishes the arguments of two instructions of one name. Jumps differ by their targets."""
    if len(following) > 1:
        return len(following)
    if name == "LOAD_CONST" or not isinstance(arg, (int, str)):
        return id(arg)
    return type(arg), arg
