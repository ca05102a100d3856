"""From the journal to what the program must carry, may drop, or cannot do.

Only changes of objects from outside count. Each is one of:
- a registered buffer's new value: part of the program (`buffer_updates`);
- invisible: the same value as before, or a scratch attribute that is written before it is read: dropped, with a note;
- pending: a later call would perhaps see it. A second trace from the state after the first decides (pipeline.py).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Any, Protocol

import torch
from torch import nn

from dynamo_lite.capture.module_tree import ModuleTree
from dynamo_lite.errors import GraphBreak
from dynamo_lite.program.effect_record import Effect, Verdict
from dynamo_lite.tracing.effects.buffer_assignment import check_assigned
from dynamo_lite.tracing.effects.read_before_write import was_looked_at
from dynamo_lite.tracing.effects.run_made_keys import is_under_an_own_key
from dynamo_lite.tracing.effects.scratch_entries import is_scratch_entry, was_emptied
from dynamo_lite.tracing.effects.unreachable_containers import unreachable
from dynamo_lite.tracing.heap import locks
from dynamo_lite.tracing.heap.instance_dicts import OwnedDicts
from dynamo_lite.tracing.heap.journal import Change, Order
from dynamo_lite.tracing.heap.object_paths import path_of
from dynamo_lite.tracing.heap.snapshots import MISSING
from dynamo_lite.tracing.heap.writes import is_invisible
from dynamo_lite.tracing.interfaces import Trace
from dynamo_lite.tracing.policy.named_callables import loaded
from dynamo_lite.tracing.policy.skipped_calls import INVISIBLE, SOURCE_TEXTS
from dynamo_lite.tracing.vocabulary.contents import attributes_of, items_of
from dynamo_lite.tracing.vocabulary.module_stack import ModuleStack
from dynamo_lite.tracing.vocabulary.program_points import frames_at
from dynamo_lite.tracing.vocabulary.symbolic_numbers import PYTHON_TYPE, shape_text
from dynamo_lite.tracing.vocabulary.type_tests import is_fake

PROCESS_WIDE = frozenset(
    {"stdout", "stderr", "stdin", "excepthook", "unraisablehook", "displayhook", "breakpointhook", "argv", "path"}
)
"""What the whole process looks at in the module sys: never scratch."""
_ATOMS = (int, float, complex, str, bytes, bool, type(None), torch.dtype, torch.device, torch.Size)


@dataclass
class Effects:
    """The net effects of one run on what was there before it."""

    buffer_updates: dict[str, torch.Tensor] = field(default_factory=dict)
    assigned: dict[str, Change] = field(default_factory=dict)  # the same, as changes
    others: list[Effect] = field(default_factory=list)  # what is no change of an object: a setting, an argument
    dropped: list[Change] = field(default_factory=list)
    pending: list[Change] = field(default_factory=list)
    made: set[int] = field(default_factory=set)  # ids of the touched objects that the run has surely made


def classify(tracer: Trace) -> Effects:
    """Sort the net effects of the run; raises a GraphBreak for one that no second trace can excuse."""
    effects = Effects()
    journal = tracer.journal
    for held in tracer.writes.locks.unbalanced():
        if tracer.writes.is_old(held.lock):
            raise tracer.refusal("lock-held", held.mark, what=locks.describe(held))
    if not journal:
        return effects
    outside = _outside(tracer)
    effects.made = _made(tracer, outside)
    registries = registries_of(tracer.root)
    assigned: dict[str, Change] = {}
    for change in journal.changes():
        if id(change.owner) not in outside or _same_value(change.old, change.new):
            continue
        if is_invisible_place(change):
            if _is_source_text(change):
                tracer.note("the text of code made in forward, for tracebacks (linecache), is not kept by the program")
            continue
        if (change.owner is sys or change.owner is vars(sys)) and change.key in PROCESS_WIDE:
            raise tracer.refusal("process-state", change.mark, function=f"assigning sys.{change.key}")
        registry = registries.get(id(change.owner))
        if registry is not None and isinstance(change.old, Order):
            continue  # a tensor taken out and registered again: the program names them
        if registry is not None and not _is_state_kept(change, registry[0]):
            assigned[_assigned_buffer(tracer, change, *registry)] = change
        elif (registry is None and _is_scratch(tracer, change)) or is_under_an_own_key(tracer, change):
            effects.dropped.append(change)
        else:
            effects.pending.append(change)
    unseen = unreachable(tracer, effects.pending)
    effects.dropped += [change for change in effects.pending if id(change.owner) in unseen]
    effects.pending = [change for change in effects.pending if id(change.owner) not in unseen]
    check_assigned(tracer, assigned)
    effects.assigned = assigned
    effects.buffer_updates = {name: change.new for name, change in assigned.items()}
    return effects


def _outside(tracer: Trace) -> set[int]:
    """The ids of the touched objects that were there before the run."""
    journal = tracer.journal
    if not tracer.sees_python:
        tracer.heap.mark()
        return {id(o) for o in journal.owners()}  # all snapshots are from before the run
    owned = place_owned_dicts(tracer)
    touched = [o for o in journal.owners() if id(o) not in tracer.made_dicts]
    found = tracer.heap.outside(touched, journal.untracked - tracer.made_dicts, journal.held_before, owned)
    return found | {id(o) for o in journal.owners() if id(o) in owned or tracer.writes.is_from_outside(o)}


def _made(tracer: Trace, outside: set[int]) -> set[int]:
    """The ids of the touched objects that the run has made, as far as the collector knows.

    They keep what they hold: a result may have one as a constant (an enum's member, an object without tensors, a key).
    """
    if not tracer.sees_python:
        return set()
    unsure, is_young = outside | tracer.journal.untracked, tracer.heap.is_young
    owners = tracer.journal.owners()
    found = {id(owner) for owner in owners if id(owner) not in unsure and is_young(owner) is True}
    return found | {id(owner) for owner in owners if id(owner) in tracer.made_dicts and id(owner) not in outside}


def is_invisible_place(change: Change) -> bool:
    """Whether a change is in a place that no program reads: which warnings were shown, a library's own counters."""
    if _is_globals(change.owner) and (change.key == "__warningregistry__" or isinstance(change.old, Order)):
        return True  # which warnings have been shown; which name was bound first
    if _is_source_text(change):
        return True
    return _place(change) in INVISIBLE or is_invisible(change.part)


def _is_source_text(change: Change) -> bool:
    """Whether a change is a new source text under the name of code made at run time (`<...>`), as linecache keeps it.

    Any other entry, and a change of one that is there, a program could leave for its next call.
    """
    if change.part != "items" or type(change.owner) is not dict or id(change.owner) not in loaded(SOURCE_TEXTS):
        return False
    if change.old is not MISSING or type(change.key) is not str or not change.key.startswith("<"):
        return False
    if type(change.new) is not tuple:
        return type(change.new) is str
    lazily = len(change.new) == 1 and callable(change.new[0])
    return lazily or [*map(type, change.new)] in ([int, type(None), list, str], [int, float, list, str])


def _place(change: Change) -> str | None:
    """Where a change of a class, of an object's attribute or of a module's globals is, as INVISIBLE names it."""
    owner = change.owner
    if _is_globals(owner):
        return f"{owner['__name__']}:{change.key}"
    cls = owner if isinstance(owner, type) else type(owner)
    module = _module_of(cls)  # not the metaclass' own answer, which may be the program's
    if change.part != "attributes" or type(module) is not str:
        return None
    return f"{module}:{_qualname_of(cls)}.{change.key}"


_module_of: Callable[[type], Any] = vars(type)["__module__"].__get__
_qualname_of: Callable[[type], str] = vars(type)["__qualname__"].__get__


def place_owned_dicts(tracer: Trace) -> set[int]:
    """Tells the dicts of objects that the program made from those of older objects, whose ids are returned."""
    older = set()
    rows = [*tracer.own(OwnedDicts).rows()]
    young = tracer.heap.young_among([owner for _, owner in rows])
    for key, owner in rows:
        is_stand_in = isinstance(owner, torch.Tensor) and tracer.recorder.input_number(owner) is not None
        if id(owner) in young and not is_stand_in:
            tracer.made_dicts.add(key)
        else:
            older.add(key)
    return older


def registries_of(root: Any) -> dict[int, tuple[str, str]]:
    """id of each module's registry dict → (which registry, the module's path)."""
    rows: dict[int, tuple[str, str]] = {}
    if isinstance(root, nn.Module):
        for path, module in ModuleTree(root).first_modules:
            for registry in ("_buffers", "_parameters"):
                if registry in module.__dict__:  # a scripted or traced module keeps its own in C++
                    rows[id(module.__dict__[registry])] = (registry, path)
    return rows


def _registered_name(change: Change, registry: str, path: str) -> tuple[str, str]:
    """The kind and the name of the buffer or parameter that a change of a registry sets."""
    return "buffer" if registry == "_buffers" else "parameter", f"{path}.{change.key}".lstrip(".")


def _is_state_kept(change: Change, registry: str) -> bool:
    """Whether a change of a registry is no new value of a buffer, so that later calls may not tell (a second trace
    decides): a buffer that was not there or had another shape, a parameter that is another of the model's."""
    old, new = change.old, change.new
    if registry == "_parameters":
        return isinstance(new, nn.Parameter) and not is_fake(new)
    if not isinstance(old, torch.Tensor) or not isinstance(new, torch.Tensor):
        return True
    return (old.shape, old.dtype, old.device) != (new.shape, new.dtype, new.device)


def _assigned_buffer(tracer: Trace, change: Change, registry: str, path: str) -> str:
    """The name of the buffer that a change of a registry assigns; refuses a parameter's."""
    name = f"{path}.{change.key}" if path else str(change.key)
    if registry == "_parameters":
        raise tracer.refusal("parameter-assigned", change.mark, target=name)
    return name


def _same_value(old: Any, new: Any) -> bool:
    """Equal atoms, or tuples of them. Other objects with a new identity are changes, whatever their `==` says.

    A size that varies is no atom, and is not compared with a number (which would be a condition of the program).
    """
    if type(old) is not type(new):
        return False
    if type(old) in (tuple, torch.Size):
        return len(old) == len(new) and all(a is b or _same_value(a, b) for a, b in zip(old, new))
    return isinstance(old, _ATOMS) and bool(old == new)


def _is_scratch(tracer: Trace, change: Change) -> bool:
    """Written before it was read, in a place that existed before: what it held cannot matter.

    A name that did not exist is not scratch yet: the program may have asked whether it is there. The second trace,
    where it is there, tells.
    """
    read = tracer.reads.read_first
    owner = change.owner
    if change.part == "items" and tracer.sees_python and was_emptied(tracer, change):
        return True
    if change.old is MISSING or change.new is MISSING or change.key == "__class__" or isinstance(owner, type):
        return False
    if not tracer.sees_python:
        return False
    if change.part.startswith("member"):
        return False  # a class is read through its instances, which `read_first` does not relate to it
    if change.part == "items":
        if change.key is None or read.get((id(owner), change.key)):
            return False  # None: the order of a dict, or all of a list
        if not _is_globals(owner):
            return is_scratch_entry(tracer, change)
        return not was_looked_at(tracer, owner, owner, change.key)
    if change.part == "cell":
        return not any(holder == id(owner) for (holder, _), is_read in read.items() if is_read)
    namespace = getattr(owner, "__dict__", None)
    keys = {(id(owner), change.key), (id(owner), "__dict__"), (id(namespace), change.key)}
    return not any(map(read.get, keys)) and not was_looked_at(tracer, owner, namespace, change.key)


def _is_globals(owner: Any) -> bool:
    return type(owner) is dict and "__name__" in owner and "__builtins__" in owner


def error(tracer: Trace, change: Change, reason: str | None = None) -> GraphBreak:
    """The GraphBreak for an effect that stays. reason: why a tensor is not the same in every call."""
    target = describe_target(tracer, change)
    registry = registries_of(tracer.root).get(id(change.owner))
    if registry is not None and registry[0] == "_parameters":
        return tracer.refusal("parameter-assigned", change.mark, target=_registered_name(change, *registry)[1])
    if (reason or isinstance(change.new, torch.Tensor)) and not (registry and isinstance(change.old, torch.Tensor)):
        why = f": {reason}" if reason else ""
        return tracer.refusal("new-state-tensor", change.mark, target=target, why=why)
    texts = {"old": describe(change.old), "new": describe(change.new)}
    return tracer.refusal("python-state", change.mark, target=target, **texts)


class Place(Protocol):
    """Where names start: the callable (or the module that it is a method of), and the modules below it."""

    root: Any
    modules: ModuleStack


def describe_target(place: Place, change: Change) -> str:
    """The changed place as Python names it (self.layers[0].count, CONFIG['n']), or in words where it has no name."""
    owner = change.owner
    if change.part == "cell":
        return "a variable of an enclosing function"
    if isinstance(owner, nn.Module) and change.part == "attributes":
        path = place.modules.path(owner)
        prefix = "self" if path in (None, "") else f"self.{path}"
        return f"{prefix}.{change.key}"
    if _is_globals(owner):
        return f"the global {change.key}"
    registry = registries_of(place.root).get(id(owner))
    if registry is not None:
        kind, name = _registered_name(change, *registry)
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
    run_tracer: Trace, effects: Effects, pending: Verdict, rests_on: Callable[[Change], tuple[str, ...]] | None = None
) -> list[Effect]:
    """The effects of a run, for people. `pending` says what became of those that were pending, `rests_on` what must not
    change after them.

    To be asked while the heap is as the run left it.
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
            kind, name = _registered_name(change, *registries[id(change.owner)])
            target = f"self.{name}"
        record = _record(run_tracer, change, kind, target, verdict)
        if rests_on is not None and verdict is Verdict.FIRST_CALL:
            record = replace(record, rests_on=rests_on(change))
        found.append(record)
    return [*found, *effects.others]


def _record(tracer: Trace, change: Change, kind: str, target: str, verdict: Verdict) -> Effect:
    return Effect(kind, target, describe(change.old), describe(change.new), verdict, frames_at(change.mark))


def kind_of(change: Change) -> str:
    """The kind of an effect, as Effect.kind names it."""
    if change.part == "cell":
        return "variable"
    if _is_globals(change.owner):
        return "global"
    if isinstance(change.owner, type):
        return "class"
    return "item" if change.part == "items" else "attribute"


def describe(value: Any, limit: int = 80) -> str:
    """A short text for an error message; never a tensor's data."""
    if value is MISSING:
        return "nothing"
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
    if isinstance(value, _ATOMS):
        text = repr(value)
        return text if len(text) <= limit else text[: limit - 3] + "..."
    return f"a {type(value).__qualname__}"


def is_within(call: tuple[tuple[Any, ...], dict[str, Any]], arg_names: list[str], name: str, result: Any) -> bool:
    """Whether the argument `name` itself (the same object) is somewhere in what the program returned."""
    args, kwargs = call
    argument = kwargs[name] if name in kwargs else args[arg_names.index(name)]
    return any(value is argument for value in containers(result))


def tensors(value: Any) -> Iterator[torch.Tensor]:
    """The tensors in `value`, through lists, tuples, dicts and the attributes of objects."""
    if isinstance(value, torch.Tensor):
        yield value
    for container in containers(value):
        if issubclass(type(container), (dict, list, tuple, set)):
            yield from (item for item in items_of(container) if issubclass(type(item), torch.Tensor))
        if not issubclass(type(container), (type, ModuleType)):
            yield from (item for item in attributes_of(container) if issubclass(type(item), torch.Tensor))


def containers(value: Any) -> Iterator[Any]:
    """`value` and the containers in it, through lists, tuples, dicts and the attributes of objects."""
    todo, seen = [value], set()
    while todo:
        value = todo.pop()
        if id(value) in seen or issubclass(type(value), (torch.Tensor, *_ATOMS)):
            continue
        seen.add(id(value))
        yield value
        todo.extend(items_of(value))
        if not issubclass(type(value), (type, ModuleType)):
            todo.extend(attributes_of(value))
