"""Results in containers that functions of a library or the user take apart and make.

The program returns the leaves, and its caller gets what the registered unflatten function makes of them. What else the
object holds in eager is lost where that function makes something else of it: the length of a cache that keeps its last
items only. The next call would go on with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from dynamo_lite.capture.recorder import Recorder
from dynamo_lite.program.trees.container_context import Key
from dynamo_lite.program.trees.container_state import CONSTANTS
from dynamo_lite.program.trees.containers import state_of
from dynamo_lite.program.trees.paths import Caller, Flat, has_foreign, is_foreign, unflatten
from dynamo_lite.tracing.effects.rebuilt_arguments import has_parts

_NUMBERS = (*CONSTANTS, torch.SymInt)
_MISSING = object()


def lost_in_result(recorder: Recorder, result: Any, flat: Flat, call: Caller) -> Iterator[tuple[str, str, str]]:
    """(what, eager's value, the program's) for each constant and size that the caller gets otherwise than in eager.

    flat: the result, taken apart; call: how registered functions are called.
    """
    if not has_foreign(flat.spec):
        return
    made = unflatten([leaf for _, leaf in flat.leaves], flat.spec, call)
    todo: list[tuple[Any, Any, tuple[Key, ...], bool]] = [(result, made, (), False)]
    seen: set[int] = set()
    while todo:
        old, new, path, is_inside = todo.pop()
        if old is new or type(old) is not type(new) or id(old) in seen:
            continue
        seen.add(id(old))
        is_inside = is_inside or is_foreign(type(old))
        after = dict(state_of(new))
        for key, value in state_of(old):
            other = after.get(key, _MISSING)
            if not isinstance(value, _NUMBERS):
                todo += [(value, other, (*path, key), is_inside)] if has_parts(value) else []
            elif is_inside and not _are_equal(recorder, value, other):
                yield _words((*path, key)), str(value), "nothing" if other is _MISSING else str(other)


def _are_equal(recorder: Recorder, value: Any, other: Any) -> bool:
    """Whether two constants or sizes are the same in each call."""
    if isinstance(value, torch.SymInt) or isinstance(other, torch.SymInt):
        if not isinstance(value, (int, torch.SymInt)) or not isinstance(other, (int, torch.SymInt)):
            return False
        same = value == other
        env = recorder.env
        return same if type(same) is bool else env is not None and env.decide_node(same.node) is True
    return type(value) is type(other) and bool(value == other or value != value)


def _words(path: tuple[Key, ...]) -> str:
    return "output" + "".join(f".{key.name}" if key.kind == "attr" else f"[{key.name!r}]" for key in path)
