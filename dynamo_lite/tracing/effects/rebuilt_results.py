"""Results in containers that functions of a library or the user take apart and make.

The program returns the leaves, and its caller gets the result of the registered unflatten function. Other state of the
object in eager is lost if that function does not restore it: the length of a cache that keeps its last items only. The
next call would continue with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import torch

from dynamo_lite.capture.recorder import Recorder
from dynamo_lite.program.trees.container_context import Key
from dynamo_lite.program.trees.containers import state_of
from dynamo_lite.program.trees.paths import Caller, Flat, has_foreign, is_foreign, unflatten
from dynamo_lite.tracing.effects.missing_parts import text_of
from dynamo_lite.tracing.effects.rebuilt_arguments import has_parts
from dynamo_lite.value_types import SAVED_CONSTANTS

_NUMBERS = (*SAVED_CONSTANTS, torch.SymInt)
_MISSING = object()


def lost_in_result(
    recorder: Recorder, result: Any, flat: Flat, call: Caller, given: Mapping[int, Mapping[Key, Any]]
) -> Iterator[tuple[str, str, str, bool]]:
    """Yield (what, eager's value, the program's, whether it is a constant or a size) for differences of results from
    eager's: constants and sizes, and the classes and functions that the arguments' containers lose.

    flat: the result, taken apart; call: how registered functions are called; given: state of the user's arguments that
    the run's lack (`rebuilt_arguments.eager_state`).
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
        for key, value in {**dict(state_of(old)), **given.get(id(old), {})}.items():
            other = after.get(key, _MISSING)
            if isinstance(value, _NUMBERS):
                if is_inside and not _are_equal(recorder, value, other):
                    yield _words((*path, key)), str(value), "nothing" if other is _MISSING else str(other), True
            elif has_parts(value):
                todo.append((value, other, (*path, key), is_inside))
            elif key in given.get(id(old), {}) and value is not other:
                yield _words((*path, key)), text_of(value), "nothing" if other is _MISSING else text_of(other), False


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
