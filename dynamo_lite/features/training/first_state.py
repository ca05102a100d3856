"""The state that the first step of an optimizer makes: an export may come before it.

`if not state: state["exp_avg"] = torch.zeros_like(p)` runs in the first call only. Where each entry that the first step
stores is computed from constants, the program can hold it as a buffer from the start. Two runs decide:

1. From the optimizer as it is. Each entry is noted as it is stored; its data is computed; and the recording is kept as
   a fingerprint in which the stored tensors are buffers.
2. From an optimizer that has these entries, which are taken out again after the run. It must record the same program,
   and leave the same other changes: then the first call computes what each later one computes.

An entry that depends on the inputs (`state["momentum_buffer"] = grad.clone()`) begins as -0.0, if later steps add to it
(capture/comparison/neutral_buffers.py).

The second run gives the program. Its other effects are judged as always (run/second_trace.py).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import torch
from torch import fx
from torch.optim import Optimizer

from dynamo_lite.capture.alias_analysis import AliasAnalysis
from dynamo_lite.capture.constant_values import computes
from dynamo_lite.capture.fakes.fake_tensors import storage_key
from dynamo_lite.capture.graph.lifting import LiftedKind
from dynamo_lite.capture.recorder import Recorder
from dynamo_lite.features.training.gradients import BEGIN
from dynamo_lite.run.finished_run import FinishedRun, conditions
from dynamo_lite.torch_internals._torch_dispatch import DisableTorchFunction, _disable_current_modes
from dynamo_lite.torch_internals._torch_operators import OpOverload
from dynamo_lite.tracing.diagnostics import RunAgain
from dynamo_lite.tracing.effects import descriptions
from dynamo_lite.tracing.vocabulary.type_tests import is_fake
from dynamo_lite.value_types import GRAPH_ATOMS

_LIKE = frozenset(
    {
        *("zeros_like", "ones_like", "full_like", "empty_like"),
        *("new_zeros", "new_ones", "new_full", "new_empty", "new_empty_strided"),
    }
)
"""Operators that read no data of their first argument."""
_MOST_NODES = 100


class Varies(Exception):
    """A value is not computed from constants."""


Place = tuple[int, Any]
"""The id of a parameter, and the key of an entry of its state."""


class MadeEntry(NamedTuple):
    """One entry of `optimizer.state[owner]`."""

    optimizer: Optimizer
    owner: Any
    key: Any
    value: Any
    is_first: bool
    """Whether the run has made the dict as well."""

    @property
    def place(self) -> Place:
        return id(self.owner), self.key


Made = Sequence[tuple[MadeEntry, "fx.Node | None"]]
"""Entries of a run, with the node that each tensor was when it was stored."""


@dataclass(frozen=True, eq=False)
class FirstState:
    """The findings of the first of the two runs (`RunRequest.prepared`).

    Attributes:
        entries: what the second run finds in the optimizers.
        program, spec: the fingerprint of the first run, as `Fingerprint.program`, and the structure of its outputs.
        changes: the other changes that it has left.
        neutral: the data of the entries that begin as -0.0.
        left: what the first run leaves in these entries, as `Fingerprint.value`.
        settings: the parts of its request that a recording depends on.
        conditions: those on its inputs.
        reads: what it has read.
        otherwise: what to try if the second run is not the same.
    """

    entries: tuple[MadeEntry, ...]
    program: Any
    spec: Any
    changes: list[Any]
    neutral: dict[Place, torch.Tensor]
    left: dict[Place, Any]
    settings: tuple[Any, ...]
    conditions: tuple[object, ...]
    reads: Any
    otherwise: FirstState | None = None

    def place(self) -> None:
        place(self.entries)

    def put_back(self) -> None:
        put_back(self.entries)


def place(entries: Sequence[MadeEntry]) -> None:
    """Put entries into the state of their optimizers, before a run."""
    for entry in entries:
        entry.optimizer.state.setdefault(entry.owner, {})[entry.key] = entry.value


def put_back(entries: Sequence[MadeEntry]) -> None:
    """Take them out again. Does nothing if nothing is placed."""
    for entry in entries:
        state = entry.optimizer.state
        if entry.is_first:
            state.pop(entry.owner, None)
        elif entry.owner in state:
            state[entry.owner].pop(entry.key, None)


class Refused:
    """The substitute for a `FirstState` if no second run has been the same: nothing."""

    def place(self) -> None: ...
    def put_back(self) -> None: ...


class FromFirstState(RunAgain):
    """Ends a run. first: what the next one finds; None for a first run again."""

    def __init__(self, first: FirstState | Refused | None) -> None:
        super().__init__("an optimizer makes its state in the first step")
        self._first = first

    def changed(self, request: Any) -> Any:
        return replace(request, prepared=self._first)


def judge(run: FinishedRun, made: Made) -> bool:
    """Of a run that is over: begin the second, or compare it with the first. False, of a run like the first, if the
    state cannot be held.

    Raises Varies if an entry has no data that a second run could begin with.
    """
    first = run.request.prepared
    if isinstance(first, Refused):
        return False
    if first is None:
        raise FromFirstState(first_state(run, made))
    assert isinstance(first, FirstState)
    if first.settings != _settings(run):
        raise FromFirstState(None)
    begun = (tensor for _, tensor in BEGIN.tensors.values())
    prints = run.fingerprint(neutral=[*first.neutral.values(), *begun])
    left = _left(run, prints, first.neutral)
    is_same = first.program == prints.program(run.outputs.values) and are_left_alike(first.left, left)
    is_same &= first.changes == changes(run, prints, first.entries)
    is_same &= first.conditions == conditions(run) and first.spec == run.outputs.spec
    if not is_same or made:
        raise FromFirstState(first.otherwise or Refused())
    run.tracer.reads.add(first.reads)  # what the first step alone has read
    return True


OVERWRITTEN: Final = "overwritten"
"""In `FirstState.left`: a run that begins with the entry replaces it before it is read."""


def _left(run: FinishedRun, prints: Any, tensors: Mapping[Place, torch.Tensor]) -> dict[Place, Any]:
    """What a run leaves in entries, which are tensors that it has made or has begun with."""
    states = {id(held): id(owner) for used in _optimizers(run) for owner, held in used.state.items()}
    items = [change for change in run.effects.dropped if change.part == "items" and id(change.owner) in states]
    scratch = {(states[id(change.owner)], change.key) for change in items}
    left: dict[Place, Any] = {}
    for place, tensor in tensors.items():
        is_known = is_fake(tensor) or run.recorder.is_lifted(tensor)
        left[place] = OVERWRITTEN if place in scratch else prints.value(tensor) if is_known else None
    return left


def are_left_alike(one: Mapping[Place, Any], other: Mapping[Place, Any]) -> bool:
    """Whether two runs leave the same in the entries that later calls read."""
    unread = {place for left in (one, other) for place, value in left.items() if value == OVERWRITTEN}
    return all(place in unread or one.get(place) == other.get(place) for place in {**one, **other})


def _optimizers(run: FinishedRun) -> list[Optimizer]:
    prepared = run.request.prepared
    return list({id(entry.optimizer): entry.optimizer for entry in getattr(prepared, "entries", ())}.values())


def _settings(run: FinishedRun) -> tuple[Any, ...]:
    return run.recorder.memory, run.request.interpreted, run.request.put_back, run.request.known


def first_state(
    run: FinishedRun,
    made: Made,
    first: FirstState | None = None,
    placed: Sequence[MadeEntry] = (),
) -> FirstState:
    """The state that the second run begins with: entries that are not computed from constants begin as -0.0. If that is
    not the same program, constants that the step has not changed do so, too: they may be a gradient that is constant.

    placed: entries of `first` that this run has begun with."""
    neutral = {} if first is None else first.neutral
    in_place = {entry.place: neutral[entry.place] for entry in placed if entry.place in neutral}
    known = {} if first is None else {entry.place: entry.value for entry in first.entries}

    def state_of(entries: _Entries) -> FirstState:
        prints = run.fingerprint(buffers=entries.buffers, neutral=[*in_place.values()])
        program, others = prints.program(run.outputs.values), changes(run, prints, [*entries.all, *placed])
        left = _left(run, prints, {**entries.varying, **in_place})
        rests_on = (_settings(run), conditions(run), run.tracer.reads)
        return FirstState(tuple(entries.all), program, run.outputs.spec, others, entries.neutral, left, *rests_on)

    if any(type(entry.optimizer.state[entry.owner]) is not dict for entry, _ in made):
        raise Varies  # a second run would find a plain dict
    constants = _Constants(run.recorder)
    entries = _Entries(made, constants, (), known)
    prints = run.fingerprint(buffers=entries.buffers, neutral=[*in_place.values()])
    unchanged = [node for node, value in entries.buffers.items() if not prints.is_changed(value)]
    state = state_of(entries)
    return replace(state, otherwise=state_of(_Entries(made, constants, unchanged, known))) if unchanged else state


class _Entries:
    """The entries with their data.

    all: each with a real tensor in place of the fake one.
    known: tensors of an earlier run that stand for equal ones of this run.
    buffers: the tensors that are computed from constants, by the node that was stored.
    varying, neutral: the fake tensors that are not, and the tensors of -0.0 in their places.
    """

    def __init__(self, made: Made, constants: _Constants, but: Collection[fx.Node], known: Mapping[Place, Any]) -> None:
        self._known = known
        self.all: list[MadeEntry] = []
        self.buffers: dict[fx.Node, torch.Tensor] = {}
        self.varying: dict[Place, torch.Tensor] = {}
        self.neutral: dict[Place, torch.Tensor] = {}
        seen: set[int] = set()
        for entry, node in made:
            if node is None and not isinstance(entry.value, GRAPH_ATOMS):
                raise Varies
            if node is not None:
                if id(entry.value) in seen:
                    raise Varies  # two entries are one tensor
                seen.add(id(entry.value))
                entry = entry._replace(value=self._data(entry, node, constants, node not in but))
            self.all.append(entry)

    def _data(self, entry: MadeEntry, node: fx.Node, constants: _Constants, may_be_constant: bool) -> torch.Tensor:
        fake = entry.value
        value = constants.of(node) if may_be_constant else None
        if value is not None:
            known = self._known.get(entry.place)
            value = known if isinstance(known, torch.Tensor) and _are_alike(known, value) else value
            self.buffers[node] = value
            return value
        if not fake.is_floating_point() or fake.requires_grad or _sizes_vary(fake):
            raise Varies
        value = _neutral(fake)
        self.varying[entry.place] = fake
        self.neutral[entry.place] = value
        return value


class _Constants:
    """Computes the data of nodes on real tensors, in memory of its own."""

    def __init__(self, recorder: Recorder) -> None:
        self._graph = recorder.level.graph
        literals = [e for e in recorder.lifted if e.kind is LiftedKind.CONSTANT]
        older = recorder.constant_storages
        self._literals = {e.node: e.tensor for e in literals if storage_key(e.fake) not in older}
        self._roots = AliasAnalysis(recorder).roots

    def of(self, node: fx.Node) -> torch.Tensor | None:
        """The data of a node when it was recorded; None if it depends on what is not constant, or if the program may
        reach its memory in another way."""
        needed = self._needed(node)
        if needed is None or not self._is_alone(node, needed):
            return None
        values: dict[fx.Node, Any] = {}
        with _disable_current_modes(), DisableTorchFunction(), torch.no_grad():
            for each in self._graph.nodes:
                if each in needed:
                    values[each] = self._run(each, values)
                if each is node:
                    break
        value, expected = values[node], node.meta.get("val")
        if not isinstance(value, torch.Tensor) or not isinstance(expected, torch.Tensor):
            return None
        alike = (value.dtype, value.shape, value.stride()) == (expected.dtype, expected.shape, expected.stride())
        return value if alike else None

    def _needed(self, node: fx.Node) -> set[fx.Node] | None:
        needed: set[fx.Node] = set()
        todo = [node]
        while todo:
            current = todo.pop()
            if current in needed:
                continue
            if len(needed) == _MOST_NODES or not self._is_constant(current):
                return None
            needed.add(current)
            is_like = isinstance(current.target, OpOverload) and current.target._opname in _LIKE
            todo += [argument for argument in current.all_input_nodes if not (is_like and argument is current.args[0])]
        return needed

    def _is_constant(self, node: fx.Node) -> bool:
        """Whether a node is constant if its arguments are."""
        return node in self._literals or (computes(node) and isinstance(node.meta.get("val"), torch.Tensor))

    def _is_alone(self, node: fx.Node, needed: set[fx.Node]) -> bool:
        """Whether memory of the run's own is reached by the node alone, once it is there: not by one that it was made
        of, which another operator uses."""
        roots = self._roots[node]
        if not all(isinstance(root, fx.Node) for root in roots):
            return False
        sources = [each for each in needed if each is not node and self._roots[each] & roots]
        return all(needed.issuperset(source.users) for source in sources)

    def _run(self, node: fx.Node, values: dict[fx.Node, Any]) -> Any:
        if node in self._literals:
            return self._literals[node].detach().clone()
        args, target = node.args, node.target
        assert isinstance(target, OpOverload)
        if target._opname in _LIKE:
            like: Any = args[0]
            args = (_like(like.meta["val"]), *args[1:])
        args, kwargs = fx.map_arg((args, node.kwargs), values.__getitem__)
        return target(*args, **kwargs)


def _like(fake: torch.Tensor) -> torch.Tensor:
    """A tensor like a fake one, without data."""
    with _disable_current_modes(), DisableTorchFunction(), torch.no_grad():
        return torch.empty_strided(fake.shape, fake.stride(), dtype=fake.dtype, device=fake.device)


def _are_alike(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two tensors are equal to the last bit, and laid out alike."""
    if (one.dtype, one.shape, one.stride()) != (other.dtype, other.shape, other.stride()):
        return False
    with _disable_current_modes(), DisableTorchFunction():
        return torch.equal(*(each.detach().reshape(-1).view(torch.uint8) for each in (one, other)))


def _neutral(fake: torch.Tensor) -> torch.Tensor:
    with _disable_current_modes(), DisableTorchFunction(), torch.no_grad():
        return _like(fake).fill_(-0.0)


def _sizes_vary(fake: torch.Tensor) -> bool:
    return any(isinstance(size, torch.SymInt) for size in (*fake.shape, *fake.stride()))


def changes(run: FinishedRun, prints: Any, entries: Sequence[MadeEntry]) -> list[Any]:
    """The changes that a run has left besides the state of the optimizers, and the gradients where these are compared
    as such (first_gradients.py), in a form that two runs have in common."""
    states = {id(entry.optimizer.state) for entry in entries}
    states |= {id(entry.optimizer.state.get(entry.owner)) for entry in entries}
    apart = run.request.gradients is not None
    rows = [
        (descriptions.describe_target(run.tracer, change), change.part, _shown(change.new, prints))
        for change in (*run.effects.pending, *run.effects.dropped, *run.effects.assigned.values())
        if id(change.owner) not in states and not (apart and isinstance(change.owner, torch.Tensor))
    ]
    return sorted(rows, key=repr)


def _shown(value: Any, prints: Any) -> Any:
    return prints.value(value) if isinstance(value, torch.Tensor) else descriptions.describe(value)
