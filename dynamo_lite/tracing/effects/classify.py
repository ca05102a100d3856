"""From the journal to the changes that the program must carry, may drop, or cannot express.

Only changes of objects that existed before the call count. Each is one of:
- a registered buffer's new value: part of the program (`buffer_updates`);
- invisible: the same value as before, or a scratch attribute that is written before it is read: dropped, with a note;
- pending: may be visible to a later call; decided by a second trace from the state after the first (pipeline.py).
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from dynamo_lite.tracing.effects.buffer_assignment import check_assigned
from dynamo_lite.tracing.effects.descriptions import Effects, is_globals, registries_of
from dynamo_lite.tracing.effects.scratch_places import is_scratch
from dynamo_lite.tracing.effects.unreachable_containers import unreachable
from dynamo_lite.tracing.heap import locks, raised_errors, shared_buffers
from dynamo_lite.tracing.heap.accesses import is_known_by_identity
from dynamo_lite.tracing.heap.instance_dicts import OwnedDicts
from dynamo_lite.tracing.heap.journal import Change, Order
from dynamo_lite.tracing.heap.snapshots import MISSING
from dynamo_lite.tracing.heap.writes import is_invisible
from dynamo_lite.tracing.interfaces import TracerView
from dynamo_lite.tracing.policy.named_callables import loaded
from dynamo_lite.tracing.policy.skipped_calls import INVISIBLE, SOURCE_TEXTS
from dynamo_lite.tracing.vocabulary.type_tests import is_fake, is_tensor
from dynamo_lite.value_types import SHAPES_AND_CONSTANTS

PROCESS_WIDE = frozenset(
    {"stdout", "stderr", "stdin", "excepthook", "unraisablehook", "displayhook", "breakpointhook", "argv", "path"}
)
"""Names in the module sys that the whole process reads: never scratch."""


def classify(tracer: TracerView) -> Effects:
    """Sort the net effects of the run; raises a GraphBreak for one that no second trace can excuse."""
    effects = Effects()
    journal = tracer.journal
    for held in tracer.writes.locks.unbalanced():
        if tracer.writes.is_old(held.lock):
            raise tracer.graph_break("lock-held", held.mark, what=locks.describe(held))
    if not journal:
        return effects
    outside = _outside(tracer)
    effects.new_ids = _made(tracer, outside)
    registries = registries_of(tracer.root)
    assigned: dict[str, Change] = {}
    for change in journal.changes():
        if id(change.owner) not in outside or _same_value(change.old, change.new):
            continue
        if is_invisible_place(change) and not raised_errors.is_seen(tracer, change):
            if _is_source_text(change):
                tracer.note("the text of code made in forward, for tracebacks (linecache), is not kept by the program")
            continue
        if (change.owner is sys or change.owner is vars(sys)) and change.key in PROCESS_WIDE:
            raise tracer.graph_break("process-state", change.mark, function=f"assigning sys.{change.key}")
        registry = registries.get(id(change.owner))
        if registry is not None and isinstance(change.old, Order):
            continue  # a tensor taken out and registered again: the program names them
        if registry is not None and not _is_state_kept(change, registry[0]):
            assigned[_assigned_buffer(tracer, change, *registry)] = change
        elif (registry is None and is_scratch(tracer, change)) or is_under_an_own_key(tracer, change):
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


def _outside(tracer: TracerView) -> set[int]:
    """The ids of the touched objects that were there before the run."""
    journal = tracer.journal
    if not tracer.sees_python:
        tracer.heap.refresh()
        return {id(o) for o in journal.owners()}  # all snapshots are from before the run
    tracer.heap.refresh()  # one look for all: what is asked about was alive when the run ended
    owned = place_owned_dicts(tracer, tracer.heap.listed_among)
    touched = [o for o in journal.owners() if id(o) not in tracer.made_dicts]
    untracked = journal.untracked - tracer.made_dicts
    found = tracer.heap.outside(touched, untracked, journal.held_before, owned)
    if tracer.reads.arrays_of_objects and untracked - found:
        found |= _held_by_arrays(tracer, untracked)
    return found | {id(o) for o in journal.owners() if id(o) in owned or tracer.writes.is_from_outside(o)}


def _held_by_arrays(tracer: TracerView, untracked: set[int]) -> set[int]:
    """Return the objects with these ids that an older array held: the collector tracks no array."""
    writes, owners = tracer.writes, tracer.journal.owners()
    touched = set(map(id, owners))
    found = tracer.journal.held_before(set(map(id, filter(writes.is_from_outside, owners))), untracked)
    for array in filter(writes.is_from_outside, tracer.reads.arrays_of_objects.values()):
        if id(array) not in touched:
            found |= untracked & shared_buffers.held_by(array)
    return found


def made_by(tracer: TracerView) -> set[int]:
    """Return the ids of the touched objects that the run created, for a run that the program ended with an error."""
    return _made(tracer, _outside(tracer)) if tracer.journal else set()


def _made(tracer: TracerView, outside: set[int]) -> set[int]:
    """Return the ids of the touched objects that the run has made, as far as the collector knows.

    They keep their contents: a result may have one as a constant (an enum's member, an object without tensors, a key).
    """
    if not tracer.sees_python:
        return set()
    unsure = outside | tracer.journal.untracked
    owners = tracer.journal.owners()
    found = tracer.heap.listed_among([owner for owner in owners if id(owner) not in unsure])
    return found | {id(owner) for owner in owners if id(owner) in tracer.made_dicts and id(owner) not in outside}


def is_invisible_place(change: Change) -> bool:
    """Whether a change is in a place that no program reads: which warnings were shown, a library's own counters."""
    if is_globals(change.owner) and (change.key == "__warningregistry__" or isinstance(change.old, Order)):
        return True  # which warnings have been shown; which name was bound first
    if _is_source_text(change):
        return True
    return is_bookkeeping(change) or is_invisible(change.part)


def is_bookkeeping(change: Change) -> bool:
    """Whether a change is in a place that torch keeps for itself, and that no program sees."""
    return _place(change) in INVISIBLE


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
    if is_globals(owner):
        return f"{owner['__name__']}:{change.key}"
    cls = owner if isinstance(owner, type) else type(owner)
    module = _module_of(cls)  # not the metaclass' own answer, which may be the program's
    if change.part != "attributes" or type(module) is not str:
        return None
    return f"{module}:{_qualname_of(cls)}.{change.key}"


_module_of: Callable[[type], Any] = vars(type)["__module__"].__get__
_qualname_of: Callable[[type], str] = vars(type)["__qualname__"].__get__


def place_owned_dicts(
    tracer: TracerView, new_among: Callable[[list[Any]], set[int]], among: set[int] | None = None
) -> set[int]:
    """Separate the dicts of new objects from those of older objects, and return the ids of the latter.

    among: the ids of the dicts to examine (default: all).
    """
    older = set()
    rows = [(key, owner) for key, owner in tracer.own(OwnedDicts).rows() if among is None or key in among]
    new = new_among([owner for _, owner in rows]) if rows else set()
    for key, owner in rows:
        is_input = isinstance(owner, torch.Tensor) and tracer.recorder.input_number(owner) is not None
        if id(owner) in new and not is_input:
            tracer.made_dicts.add(key)
        else:
            older.add(key)
    return older


def _is_state_kept(change: Change, registry: str) -> bool:
    """Whether a change of a registry is not a new value of a buffer, so that a second trace decides whether later calls
    see it: a buffer that was absent or had another shape, a parameter that is another of the model's."""
    old, new = change.old, change.new
    if registry == "_parameters":
        return isinstance(new, nn.Parameter) and not is_fake(new)
    if not isinstance(old, torch.Tensor) or not isinstance(new, torch.Tensor):
        return True
    if (old.dtype, old.device, old.dim()) != (new.dtype, new.device, new.dim()):
        return True
    return not all(map(_are_known_equal, old.shape, new.shape))


def _are_known_equal(one: Any, other: Any) -> bool:
    """Whether two sizes are equal for all inputs: this is not a query of the program."""
    answer = one == other
    return answer if type(answer) is bool else bool(answer.node.statically_known_true(__file__, 0))


def _assigned_buffer(tracer: TracerView, change: Change, registry: str, path: str) -> str:
    """The name of the buffer that a change of a registry assigns; refuses a parameter's."""
    name = f"{path}.{change.key}" if path else str(change.key)
    if registry == "_parameters":
        raise tracer.graph_break("parameter-assigned", change.mark, target=name)
    return name


def _same_value(old: Any, new: Any) -> bool:
    """Whether two values are equal atoms, or tuples of them. Other new objects count as changes, despite `==`.

    A size that varies is not an atom, and is not compared with a number (which would be a condition of the program).
    """
    if type(old) is not type(new):
        return False
    if type(old) in (tuple, torch.Size):
        return len(old) == len(new) and all(a is b or _same_value(a, b) for a, b in zip(old, new))
    return isinstance(old, SHAPES_AND_CONSTANTS) and bool(old == new)


# Entries of an older dict under an object that the run itself made.
#
# No later call has that key: it creates an object of its own, so it cannot look the entry up, and only code that
# reads the dict as a whole (its length, its keys) could see the entry. functools.singledispatchmethod keeps its bound
# methods so, under the instance, and since the method holds the instance the entry outlives it.

_AS_A_WHOLE = frozenset({"items", "keys", "length", "truth", "parts"})


def is_under_an_own_key(tracer: TracerView, change: Change) -> bool:
    """Whether the change is a new entry that no later call can find, in a dict that the program reads by key only."""
    if change.part != "items" or change.old is not MISSING or type(change.owner) is not dict:
        return False
    key = change.key() if type(change.key) is weakref.ref else change.key
    if is_tensor(key) or not is_known_by_identity(key) or not tracer.heap.is_new(key):
        return False
    owner = id(change.owner)
    return not any(how == "state" or (at == owner and how in _AS_A_WHOLE) for how, at, _ in tracer.reads.places)
