"""Arguments in containers that functions of a library or the user take apart and make (`ContainerFunctions`).

The run gets containers that the registered function makes of fake tensors. The function may compute their contents (a
copy, a view, a concatenation with nothing), and omit state that the user's own object holds:

- a tensor that flatten returns for a leaf, with the value of that leaf in the example, *is* that input;
- any other tensor is computed from the inputs by recorded operators, and may not be changed in place: eager would
  change the user's;
- state of the user's object that the made one lacks, or that differs, may be read by the program only if that
  makes no difference (run/lost_state.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any, Final

import torch
from torch import nn

from dynamo_lite.capture import Recorder
from dynamo_lite.capture.fakes.fake_tensors import storage_key
from dynamo_lite.capture.graph.lifting import Unwritable
from dynamo_lite.errors import GraphBreak
from dynamo_lite.program import FlatInputs
from dynamo_lite.program.trees.container_context import Key
from dynamo_lite.program.trees.container_state import StateRead, state_read
from dynamo_lite.program.trees.containers import state_of
from dynamo_lite.program.trees.paths import flatten, has_foreign, is_foreign
from dynamo_lite.torch_internals._torch_fake import FakeTensor
from dynamo_lite.tracing.calls.container_functions import ContainerFunctions
from dynamo_lite.tracing.effects.missing_parts import MissingPart
from dynamo_lite.tracing.heap.snapshots import MISSING
from dynamo_lite.tracing.tracer import Tracer
from dynamo_lite.tracing.vocabulary import contents
from dynamo_lite.value_types import CONSTANTS, SAVED_CONSTANTS

_OPAQUE = (nn.Module, type, ModuleType, FunctionType, MethodType, BuiltinFunctionType)
REMADE: Final = object()
"""Marks a leaf that the registered flatten function computes each time."""
_WHOLE = ("items", "keys", "parts", "state", "entry", "length", "truth")


@dataclass
class RoundTrip:
    """The result of taking the example's own arguments apart and making them again.

    kept: the leaves that come back with an unchanged value; remade: those that flatten makes each time.
    """

    kept: set[int] = field(default_factory=set)
    remade: set[int] = field(default_factory=set)
    lost: list[MissingPart] = field(default_factory=list)

    def lost_places(self, inputs: FlatInputs) -> frozenset[tuple[int, Any]]:
        """Return (id of the user's object, name) of the lost state."""
        call = inputs.args, inputs.kwargs
        return frozenset((id(_owner(call, part)), part.key.name) for part in self.lost)


def round_trip(inputs: FlatInputs, calls: ContainerFunctions) -> RoundTrip:
    """Tries the registered functions on the example. Raises GraphBreak where they do not fit each other."""
    found = RoundTrip()
    again = [leaf for _, leaf in flatten((inputs.args, inputs.kwargs), calls).leaves]
    if len(again) == len(inputs.leaves):
        pairs = enumerate(zip(inputs.leaves, again))
        found.remade = {i for i, (one, other) in pairs if isinstance(one, torch.Tensor) and not _shares(one, other)}
    tensors = [leaf for leaf in inputs.leaves if isinstance(leaf, torch.Tensor)]
    if any(isinstance(leaf, FakeTensor) or type(leaf) not in (torch.Tensor, nn.Parameter) for leaf in tensors):
        found.kept = set(range(len(inputs.leaves)))  # there is no data to compare
        return found
    copies = [_copy(leaf) if isinstance(leaf, torch.Tensor) else leaf for leaf in inputs.leaves]
    made = inputs.unflatten(copies, calls)
    back = [leaf for _, leaf in flatten(made, calls).leaves]
    found.kept = {i for i, (old, new) in enumerate(zip(inputs.leaves, back)) if _same_leaf(old, new)}
    found.lost = list(_differences((inputs.args, inputs.kwargs), made, (), set()))
    return found


def _shares(one: torch.Tensor, other: Any) -> bool:
    if one is other:
        return True
    return isinstance(other, torch.Tensor) and one.untyped_storage()._cdata == other.untyped_storage()._cdata


def _copy(leaf: torch.Tensor) -> torch.Tensor:
    return leaf.detach().clone().requires_grad_(leaf.requires_grad)


def _same_leaf(old: Any, new: Any) -> bool:
    if not isinstance(old, torch.Tensor) or not isinstance(new, torch.Tensor):
        return old is new
    if old.shape != new.shape or old.dtype is not new.dtype or old.device != new.device:
        return False
    return bool(old.is_meta or ((old == new) | ((old != old) & (new != new))).all())


def _differences(old: Any, new: Any, path: tuple[Key, ...], seen: set[tuple[int, int]]) -> Iterator[MissingPart]:
    """Yield the differences between two objects of one structure."""
    if old is new or (id(old), id(new)) in seen:
        return
    seen.add((id(old), id(new)))
    before, after = dict(state_of(old)), dict(state_of(new))
    for key in [*before, *(key for key in after if key not in before)]:
        one, other = before.get(key, MISSING), after.get(key, MISSING)
        if one is other or (isinstance(one, torch.Tensor) and _same_leaf(one, other)):
            continue
        if type(one) is type(other) and has_parts(one):
            yield from _differences(one, other, (*path, key), seen)
        elif not _same_constant(one, other):
            yield MissingPart(path, key, one, other)


def has_parts(value: Any) -> bool:
    """Whether a value is looked into: a container, or an object with attributes."""
    if isinstance(value, (torch.Tensor, *CONSTANTS, *_OPAQUE)):
        return False
    return isinstance(value, (dict, list, tuple)) or hasattr(value, "__dict__") or hasattr(type(value), "__slots__")


def _same_constant(one: Any, other: Any) -> bool:
    if type(one) is not type(other) or isinstance(one, torch.Tensor):
        return False
    if isinstance(one, CONSTANTS):
        return bool(one == other or one != one)
    if isinstance(one, FunctionType):
        return one.__code__ is other.__code__
    if isinstance(one, MethodType):
        return one.__func__ is other.__func__
    return isinstance(one, (set, frozenset)) and one == other


def rebuild(
    inputs: FlatInputs, tracer: Tracer, leaves: list[Any], trip: RoundTrip
) -> tuple[tuple[tuple[Any, ...], dict[str, Any]], list[Any]]:
    """Return the arguments of the run, made of fake tensors while operators are recorded, and the new leaves."""
    calls, recorder = ContainerFunctions(tracer), tracer.recorder
    call = inputs.unflatten(leaves, calls)
    back = [leaf for _, leaf in flatten(call, calls).leaves]
    again = [leaf for _, leaf in flatten(call, calls).leaves]
    if len(back) != len(leaves):
        what = f"gives {len(back)} parts of what was made of {len(leaves)}"
        tracer.refuse("container-function", name="the registered flatten function", what=what)
    now = list(leaves)
    for index, (leaf, given, same) in enumerate(zip(leaves, back, again)):
        if given is leaf or not isinstance(leaf, torch.Tensor):
            continue
        if given is not same:
            now[index] = REMADE
        elif not (isinstance(given, torch.Tensor) and given in recorder.level.nodes):
            what = f"gives, for {inputs.names[index]}, what was not made of the tensor that unflatten was given"
            tracer.refuse("container-function", name="the flatten function of a container", what=what)
        else:
            now[index] = given
            if index in trip.kept:
                recorder.rebind_input(index, leaf, given)
    _protect(recorder, call, leaves, trip)
    return call, now


def _protect(recorder: Recorder, call: Any, leaves: list[Any], trip: RoundTrip) -> None:
    """Refuse in-place changes of tensors that are not the user's: the user's own would not change."""
    stand_ins = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
    inputs = {storage_key(leaf) for leaf in stand_ins}
    made = [leaf for i, leaf in enumerate(leaves) if i in trip.remade]
    made += [t for t in tensors_in(call) if isinstance(t, FakeTensor) and storage_key(t) not in inputs]
    what = "changes in place what the registered functions of a container have made of an input"
    reason = Unwritable("container-mutated", what, "return the new value", {}, made)
    recorder.computed_storages |= {storage_key(tensor): reason for tensor in made}


def tensors_in(value: Any) -> Iterator[torch.Tensor]:
    """The tensors in an object, through containers and attributes."""
    todo, seen = [value], set()
    while todo:
        value = todo.pop()
        if isinstance(value, torch.Tensor):
            yield value
        elif id(value) not in seen and has_parts(value):
            seen.add(id(value))
            todo += [part for _, part in state_of(value)]


@dataclass(frozen=True)
class HeldConstant:
    """A constant or a size that an object of the run's holds, as it was made: `key` of `owner`, at `path`."""

    owner: Any
    path: tuple[Key, ...]
    key: Key
    value: Any


def state_kept(call: Any) -> list[HeldConstant]:
    """Return the state other than tensors in the containers of registered functions, before the program runs."""
    found: list[HeldConstant] = []
    todo: list[tuple[Any, tuple[Key, ...], bool]] = [(call, (), False)]
    seen: set[int] = set()
    while todo:
        owner, path, is_inside = todo.pop()
        if id(owner) in seen:
            continue
        seen.add(id(owner))
        is_inside = is_inside or is_foreign(type(owner))
        for key, value in state_of(owner):
            if is_inside and isinstance(value, (*SAVED_CONSTANTS, torch.SymInt)):
                found.append(HeldConstant(owner, path, key, value))
            elif has_parts(value):
                todo.append((value, (*path, key), is_inside))
    return found


def state_reads(
    tracer: Tracer, inputs: FlatInputs, kept: list[HeldConstant], leaves: list[Any], lost: Sequence[MissingPart] = ()
) -> tuple[StateRead, ...]:
    """Return checks for later calls of the state that the program has read. leaves: the flat inputs of the run; lost:
    the differences of the user's object with which the program is the same."""
    places, found = tracer.reads.places, []
    numbers = {id(leaf) for leaf in leaves if isinstance(leaf, torch.SymInt)}
    also = {(part.path, part.key): (part.value,) for part in lost}
    for part in kept:
        hows = [part.key.kind, *_WHOLE]
        if id(part.value) not in numbers and any(_row(how, part.owner, part.key) in places for how in hows):
            words = words_of(inputs, (*part.path, part.key))
            others = also.get((part.path, part.key), ())
            read = state_read((*part.path, part.key), words, part.value, leaves, others)
            if read is None:
                tracer.note(f"{words} is read, and no size of the inputs alone: a call does not check it")
            else:
                found.append(read)
    return tuple(found)


def words_of(inputs: FlatInputs, path: tuple[Key, ...]) -> str:
    which, first, *rest = path
    name = inputs.arg_names[first.name] if which.name == 0 else first.name
    return name + "".join(f".{key.name}" if key.kind == "attr" else f"[{key.name!r}]" for key in rest)


def lost_reads(tracer: Tracer, call: Any, lost: Sequence[MissingPart]) -> list[tuple[MissingPart, GraphBreak]]:
    """Return the parts that the program has read but the run's container lacks, with their graph breaks."""
    places, found = tracer.reads.places, []
    for part in lost:
        owner = _owner(call, part)
        hows = [part.key.kind, *_WHOLE]
        row = next((row for how in hows if (row := _row(how, owner, part.key)) in places), None)
        if row is not None:
            site = places[row]
            named = {"what": str(part), "old": part.old, "new": part.new}
            found.append((part, tracer.graph_break("container-state", (site,) if site is not None else None, **named)))
    return found


def put_back(call: Any, lost: Sequence[MissingPart]) -> None:
    """Give the run's containers the user's state (`MissingPart.can_be_put_back`)."""
    for part in lost:
        owner = _owner(call, part)
        if part.key.kind == "attr":
            object.__setattr__(owner, part.key.name, part.value)
        else:
            owner[part.key.name] = part.value


def _owner(call: Any, part: MissingPart) -> Any:
    owner = call
    for key in part.path:
        owner = dict(state_of(owner)).get(key, MISSING)
    return owner


def _row(how: str, owner: Any, key: Key) -> tuple[str, int, Any]:
    return how, id(owner), None if how in _WHOLE else key.name


def changed_arguments(
    tracer: Tracer, inputs: FlatInputs, leaves: list[Any], call: tuple[tuple[Any, ...], dict[str, Any]]
) -> list[str]:
    """Return the names of the arguments whose containers have changed their contents during the run.

    `leaves` are those of the containers `call` that the run got; REMADE for one that cannot be compared: whether the
    program has written into that container is checked instead.
    """
    calls, (args, kwargs) = ContainerFunctions(tracer), call
    lost = [(_owner(call, part), part.key) for part in inputs.restored.lost] if inputs.is_foreign else []
    specs = [spec for arguments in inputs.spec.children() for spec in arguments.children()]
    names = [*inputs.arg_names[: len(args)], *kwargs]
    changed, first = [], 0
    for name, spec, value in zip(names, specs, [*args, *kwargs.values()]):
        flat = flatten(value, calls)
        before, first = leaves[first : first + spec.num_leaves], first + spec.num_leaves
        pairs = zip(before, flat.leaves)
        is_other = flat.spec != spec or any(a is not b and a is not REMADE for a, (_, b) in pairs)
        if is_other or (has_foreign(spec) and _is_written(tracer, value, lost)):
            changed.append(name)
    return changed


def _is_written(tracer: Tracer, value: Any, lost: Sequence[tuple[Any, Key]]) -> bool:
    """Whether the program has changed a container of registered functions beside its leaves. lost: (owner, part) of the
    differences of the user's own: any write there is a change."""
    own = tracer.heap.new_among(tuple(contents.containers(value)))
    if any(id(owner) in own and tracer.journal.is_written(owner, key.name) for owner, key in lost):
        return True
    return any(id(change.owner) in own for change in tracer.journal.changes())


def eager_state(tracer: Tracer, call: Any, lost: Sequence[MissingPart]) -> dict[int, dict[Key, Any]]:
    """Return the state of containers that differs in eager from the run: id of one → part → the user's value, where the
    program has written nothing."""
    found: dict[int, dict[Key, Any]] = {}
    for part in lost:
        owner = _owner(call, part)
        if not tracer.journal.is_written(owner, part.key.name):
            found.setdefault(id(owner), {})[part.key] = part.value
    return found
