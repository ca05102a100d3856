"""The effects of a run for people: records, texts of the changed places, errors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol

import torch
from torch import nn

from dynamo_lite.capture.module_tree import ModuleTree
from dynamo_lite.errors import GraphBreak
from dynamo_lite.program.effect_record import Effect, Verdict
from dynamo_lite.tracing.heap.journal import Change, Order
from dynamo_lite.tracing.heap.object_paths import path_of
from dynamo_lite.tracing.heap.snapshots import MISSING
from dynamo_lite.tracing.interfaces import TracerView
from dynamo_lite.tracing.strings.deferred_str import UnreadText
from dynamo_lite.tracing.vocabulary.module_stack import ModuleStack
from dynamo_lite.tracing.vocabulary.program_points import frames_at
from dynamo_lite.tracing.vocabulary.symbolic_numbers import PYTHON_TYPE, shape_text
from dynamo_lite.value_types import SHAPES_AND_CONSTANTS


def registries_of(root: Any) -> dict[int, tuple[str, str]]:
    """id of each module's registry dict → (which registry, the module's path)."""
    rows: dict[int, tuple[str, str]] = {}
    if isinstance(root, nn.Module):
        for path, module in ModuleTree(root).first_modules:
            for registry in ("_buffers", "_parameters"):
                if registry in module.__dict__:  # a scripted or traced module keeps its own in C++
                    rows[id(module.__dict__[registry])] = (registry, path)
    return rows


def registered_name(change: Change, registry: str, path: str) -> tuple[str, str]:
    """The kind and the name of the buffer or parameter that a change of a registry sets."""
    return "buffer" if registry == "_buffers" else "parameter", f"{path}.{change.key}".lstrip(".")


def is_globals(owner: Any) -> bool:
    return type(owner) is dict and "__name__" in owner and "__builtins__" in owner


class HiddenValue(NamedTuple):
    """The new value of a place that is not a Python object, for people.

    is_scratch: whether the next call overwrites it before it is read
    id, names: the error for a change that a later call would see
    """

    place: str
    text: str
    is_scratch: bool
    id: str
    names: dict[str, Any]


def error(tracer: TracerView, change: Change, reason: str | None = None) -> GraphBreak:
    """The GraphBreak for an effect that stays. reason: why a tensor is not the same in every call."""
    if isinstance(change.new, HiddenValue):
        return tracer.graph_break(change.new.id, change.mark, **change.new.names)
    change = _of_one_item(change)
    target = describe_target(tracer, change)
    registry = registries_of(tracer.root).get(id(change.owner))
    if registry is not None and registry[0] == "_parameters":
        return tracer.graph_break("parameter-assigned", change.mark, target=registered_name(change, *registry)[1])
    if (reason or isinstance(change.new, torch.Tensor)) and not (registry and isinstance(change.old, torch.Tensor)):
        why = f": {reason}" if reason else ""
        return tracer.graph_break("new-state-tensor", change.mark, target=target, why=why)
    texts = {"old": describe(change.old), "new": describe(change.new)}
    return tracer.graph_break("python-state", change.mark, target=target, **texts)


def _of_one_item(change: Change) -> Change:
    """The change of a list that keeps its length as that of the first item which is another object."""
    old, new = change.old, change.new
    if change.part != "items" or change.key is not None or type(old) is not list or type(new) is not list:
        return change
    index = next((index for index, (was, now) in enumerate(zip(old, new)) if was is not now), None)
    if index is None or len(old) != len(new):
        return change
    return change._replace(key=index, old=old[index], new=new[index])


class NameRoots(Protocol):
    """Where names start: the callable (or the module that it is a method of), and the modules below it."""

    root: Any
    modules: ModuleStack


def describe_target(place: NameRoots, change: Change) -> str:
    """The changed place as Python names it (self.layers[0].count, CONFIG['n']), or in words where it has no name."""
    owner = change.owner
    if isinstance(change.new, HiddenValue):
        return change.new.place
    if change.part == "cell":
        return "a variable of an enclosing function"
    if isinstance(owner, nn.Module) and change.part == "attributes":
        path = place.modules.path(owner)
        prefix = "self" if path in (None, "") else f"self.{path}"
        return f"{prefix}.{change.key}"
    if is_globals(owner):
        return f"the global {change.key}"
    registry = registries_of(place.root).get(id(owner))
    if registry is not None:
        kind, name = registered_name(change, *registry)
        return f"the {kind} {name!r}"
    path = path_of(owner, place.root)
    if change.part == "items":
        if path is not None and path.endswith(".__dict__") and isinstance(change.key, str):
            return f"{path.removesuffix('.__dict__')}.{change.key}"
        container = path or f"a {type(owner).__qualname__}"
        known = isinstance(change.key, (str, int, bool))
        if change.key is None or not known:
            return container
        return f"{container}[{change.key!r}]" if path else f"the entry {change.key!r} of {container}"
    if path is not None:
        return f"{path}.{change.key}"
    kind = f"class {owner.__qualname__}" if isinstance(owner, type) else f"a {type(owner).__qualname__}"
    return f"the attribute {change.key} of {kind}"


def records(
    run_tracer: TracerView,
    effects: Effects,
    pending: Verdict,
    rests_on: Callable[[Change], tuple[str, ...]] | None = None,
) -> list[Effect]:
    """Return the effects of a run, for people. `pending` is the verdict on those that were pending, `rests_on` returns
    the state that must not change after them.

    To be called while the heap is as the run left it.
    """
    found = [
        _record(run_tracer, change, "buffer", f"self.{name}", Verdict.CARRIED)
        for name, change in effects.assigned.items()
    ]
    registries = registries_of(run_tracer.root)
    rows = [(change, Verdict.INVISIBLE) for change in effects.dropped] + [(c, pending) for c in effects.pending]
    for change, verdict in rows:
        kind, target = kind_of(change), describe_target(run_tracer, change)
        if id(change.owner) in registries:
            kind, name = registered_name(change, *registries[id(change.owner)])
            target = f"self.{name}"
        record = _record(run_tracer, change, kind, target, verdict)
        if rests_on is not None and verdict is Verdict.FIRST_CALL:
            record = replace(record, rests_on=rests_on(change))
        found.append(record)
    return [*found, *effects.others]


def _record(tracer: TracerView, change: Change, kind: str, target: str, verdict: Verdict) -> Effect:
    return Effect(kind, target, describe(change.old), describe(change.new), verdict, frames_at(change.mark))


def kind_of(change: Change) -> str:
    """The kind of an effect, as Effect.kind names it."""
    if change.part == "cell":
        return "variable"
    if is_globals(change.owner):
        return "global"
    if isinstance(change.owner, type):
        return "class"
    return "item" if change.part == "items" else "attribute"


def describe(value: Any, limit: int = 80) -> str:
    """A short text for an error message; never a tensor's data."""
    if value is MISSING:
        return "nothing"
    if isinstance(value, HiddenValue):
        return value.text
    if isinstance(value, Order):
        return str(value) if len(str(value)) <= limit else "one order of its keys"
    if isinstance(value, torch.Tensor):
        return f"a tensor {value.dtype} of shape {shape_text(value.shape)}"
    if type(value) in PYTHON_TYPE:
        return f"the {PYTHON_TYPE[type(value)].__name__} {value.node}"  # its own text would take the number
    if isinstance(value, torch.Size):
        return f"the size {shape_text(value)}"
    if isinstance(value, (list, tuple, set, dict)):
        return f"a {type(value).__name__} of {len(value)}"
    if isinstance(value, UnreadText):
        return "a text that rests on data or sizes"
    if isinstance(value, SHAPES_AND_CONSTANTS):
        text = repr(value)
        return text if len(text) <= limit else text[: limit - 3] + "..."
    return f"a {type(value).__qualname__}"


@dataclass
class Effects:
    """The net effects of one run on objects that existed before it."""

    buffer_updates: dict[str, torch.Tensor] = field(default_factory=dict)
    assigned: dict[str, Change] = field(default_factory=dict)  # the same, as changes
    others: list[Effect] = field(default_factory=list)  # not a change of an object: a setting, an argument
    dropped: list[Change] = field(default_factory=list)
    pending: list[Change] = field(default_factory=list)
    new_ids: set[int] = field(default_factory=set)  # ids of the touched objects that the run has surely made
