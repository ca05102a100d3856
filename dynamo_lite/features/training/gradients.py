"""The `.grad` of tensors during a run.

Parameters are the user's own objects, whose `.grad` a trace must not set: the run keeps what the program finds there
in slots of its own. At the end of the run each slot is compared with what the call found:

- None, or the same tensor: nothing changes. A tensor that was there before the export is a buffer of the program
  if the step uses it (zero_grad(set_to_none=False), accumulation over calls).
- Overwritten before it is read: scratch. The program does not set `.grad`, which is noted.
- Otherwise a second trace, from the gradients that the first has left, decides (run/second_trace.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from types import GetSetDescriptorType
from typing import Any, NamedTuple

import torch
from torch import fx

from dynamo_lite.capture.graph.unrecorded import unrecorded
from dynamo_lite.interpreter.observer import DELETED, NOT_HANDLED
from dynamo_lite.run.finished_run import CallRecord, FinishedRun, lose_effect
from dynamo_lite.torch_internals._torch_dispatch import DisableTorchFunction, _disable_current_modes
from dynamo_lite.tracing.effects.descriptions import HiddenValue, describe
from dynamo_lite.tracing.feature import TensorAttribute
from dynamo_lite.tracing.feature_state import MergedState
from dynamo_lite.tracing.heap.journal import Change
from dynamo_lite.tracing.higher_order.autograd import WithoutHooks, has_no_hooks
from dynamo_lite.tracing.interfaces import FeatureState, Step, TracerView
from dynamo_lite.tracing.vocabulary.program_points import Mark
from dynamo_lite.tracing.vocabulary.type_tests import is_fake, is_wrapped

_LEFT: dict[int, tuple[torch.Tensor, Any]] = {}
"""id of an outer tensor → (the tensor, its gradient): the gradients that the run in progress has left, for a second
trace. It is emptied when that run is undone."""


@dataclass
class _Begin:
    """What the gradients of the run in progress begin with (first_gradients.py).

    tensors: id of an outer tensor without a gradient → (the tensor, the gradient that it has instead)
    copies: whether each first gradient is a copy
    """

    tensors: dict[int, tuple[torch.Tensor, torch.Tensor]] = field(default_factory=dict)
    copies: bool = False


BEGIN = _Begin()


@dataclass
class Slot:
    """The `.grad` of one tensor.

    owner: the tensor, as the program sees it
    start: the gradient that the call finds: a tensor from before the run, or None
    value: the gradient now
    is_outside: whether the tensor existed before the run
    is_left: whether the start is what an earlier run has left
    is_begun: whether the start is a buffer of the program in the place of None (first_gradients.py)
    number: of the flat input that the tensor is; else None
    read_first: whether the program looked at the gradient before it was overwritten
    """

    owner: torch.Tensor
    start: Any
    value: Any
    is_outside: bool
    number: int | None
    mark: Mark
    read_first: bool = False
    is_written: bool = False
    is_left: bool = False
    is_begun: bool = False


class GradientOrNone(NamedTuple):
    """The `.grad` behind a branch on data, one side of which alone leaves a gradient: it may not be read."""

    gradient: torch.Tensor


class LateSum(NamedTuple):
    """A gradient that an earlier call has left, to which the backward has added: only a program that uses the sum
    depends on that call.

    slot: that of the gradient
    result: a fake tensor in the place of the sum, which may not be used
    node: its node
    """

    slot: Slot
    result: torch.Tensor
    node: fx.Node


def add_to_left(tracer: TracerView, slot: Slot, gradient: torch.Tensor) -> None:
    """A second trace adds to the gradient that the first has left."""
    total = torch.empty_like(gradient)
    tracer.own(Gradients).late.append(LateSum(slot, total, tracer.recorder.node_of(total)))
    put(tracer, slot, total)


def _check_late(run: FinishedRun) -> None:
    """Refuse the use of a gradient that an earlier call has left."""
    for slot, result, node in run.tracer.own(Gradients).late:
        if slot.value is result or node.users:
            target = f"the .grad of {name_of(run.tracer, slot.owner, slot.number)}"
            raise run.tracer.graph_break("kept-gradient", slot.mark, target=target, what="is added to by the next call")


class Gradients(FeatureState):
    """The slots of a run, by the id of the tensor."""

    def __init__(self, tracer: TracerView) -> None:
        self._tracer = tracer
        self._slots: dict[int, Slot] = {}
        self.late: list[LateSum] = []

    def __iter__(self) -> Any:
        return iter(self._slots.values())

    def of(self, tensor: torch.Tensor) -> Slot:
        """Return the slot of a tensor, or of the fake tensor that represents it."""
        owner = self._tracer.recorder.original(tensor)
        slot = self._slots.get(id(owner))
        if slot is None:
            slot = self._slots[id(owner)] = self._found(owner)
        return slot

    def _found(self, owner: torch.Tensor) -> Slot:
        recorder = self._tracer.recorder
        number = recorder.input_number(owner)
        is_outside = number is not None or recorder.is_input(owner) or not is_fake(owner)
        start, is_begun = None, False
        is_left = id(owner) in _LEFT and _LEFT[id(owner)][0] is owner
        if is_left:
            start = _LEFT[id(owner)][1]
        elif is_outside:
            start = _grad(owner if number is None else self._tracer.inputs.leaves[number])
            is_begun = start is None and number is None and id(owner) in BEGIN.tensors
            start = BEGIN.tensors[id(owner)][1] if is_begun else start
            if start is not None and not is_fake(start):
                lifted(self._tracer, owner)  # which gives it a name
                recorder.expect_state(start, f"grad.{name_of(self._tracer, owner, number)}")
        return Slot(owner, start, start, is_outside, number, self._tracer.mark(), is_left=is_left, is_begun=is_begun)

    def save(self) -> dict[int, tuple[Any, bool]]:
        return {key: (slot.value, slot.is_written) for key, slot in self._slots.items()}

    def changed(self, saved: dict[int, tuple[Any, bool]]) -> str | None:
        for key, slot in self._slots.items():
            if slot.is_written and slot.value is not saved.get(key, (slot.start,))[0]:
                return self._what(slot)
        return None

    def restore(self, saved: dict[int, tuple[Any, bool]]) -> None:
        for key, slot in self._slots.items():
            slot.value, slot.is_written = saved.get(key, (slot.start, False))

    def left_behind(self) -> dict[int, tuple[Any, bool]]:
        return self.save()

    def merge(self, merge: Any, left: Any, right: Any) -> MergedState:
        """Two gradients are a result of the branch; one that only one side has may not be read behind it."""
        plans: list[tuple[Slot, Callable[[], Any], bool]] = []
        difference = ""
        for key, slot in self._slots.items():
            (one, one_written), (other, other_written) = (
                side.get(key, (slot.value, slot.is_written)) for side in (left, right)
            )
            if one is other:
                plan = partial(_same, one)
            elif all(isinstance(value, torch.Tensor) for value in (one, other)):
                plan = merge.plan(*(v if is_fake(v) else lifted(self._tracer, v) for v in (one, other)))
            else:
                difference, plan = self._what(slot), partial(_same, _gradient_or_none(one, other))
            plans.append((slot, plan, one_written and other_written))

        def put_all() -> None:
            for slot, plan, is_written in plans:
                slot.value, slot.is_written = plan(), is_written

        return MergedState(put_all, difference)

    def _what(self, slot: Slot) -> str:
        return f"the .grad of {name_of(self._tracer, slot.owner, slot.number)}"


def _same(value: Any) -> Any:
    return value


def _gradient_or_none(one: Any, other: Any) -> GradientOrNone:
    found = next(value for value in (one, other) if value is not None)
    return found if isinstance(found, GradientOrNone) else GradientOrNone(found)


def lifted(tracer: TracerView, tensor: torch.Tensor) -> torch.Tensor:
    """Return the fake tensor for a tensor; what makes one is not part of the program."""
    with unrecorded():
        fake: torch.Tensor = tracer.recorder.guarded(tracer.recorder.lift, tensor)
    return fake


def name_of(tracer: TracerView, owner: torch.Tensor, number: int | None) -> str:
    """The name of a tensor in messages and in the program's state."""
    if number is not None:
        return str(tracer.inputs.names[number])
    if is_fake(owner):
        return "a tensor of the step"
    return next((entry.fqn for entry in tracer.recorder.lifted if entry.tensor is owner), "a tensor")


def _grad(tensor: Any) -> Any:
    with DisableTorchFunction():
        return tensor.grad if isinstance(tensor, torch.Tensor) and (tensor.is_leaf or tensor.retains_grad) else None


def read(tracer: TracerView, owner: torch.Tensor) -> Any:
    """The program reads `owner.grad`."""
    if not owner.is_leaf and owner.retains_grad:
        tracer.refuse("tensor-attribute", name="grad")
    slot = tracer.own(Gradients).of(owner)
    slot.read_first |= not slot.is_written
    check_read(tracer, slot)
    return slot.value


def check_read(tracer: TracerView, slot: Slot) -> None:
    """The program uses a gradient. Raises an error if it is there on one side of a branch only."""
    if isinstance(slot.value, GradientOrNone):
        what = f"the .grad of {name_of(tracer, slot.owner, slot.number)} different"
        tracer.refuse("branch-differs", what=what, why="it is None on one side, and is used behind the branch")


def write(tracer: TracerView, owner: torch.Tensor, value: Any) -> None:
    """The program sets or deletes `owner.grad`. Raises what torch raises for a value that does not fit."""
    slot = tracer.own(Gradients).of(owner)
    if value is DELETED:
        value = None
    if value is not None:
        _check_fits(tracer, owner, value)
    put(tracer, slot, value)


ATTRIBUTES: dict[str, TensorAttribute] = {"grad": TensorAttribute(read, write)}


def call_setter(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`torch.Tensor.grad.__set__(x, value)`, and `__delete__(x)`: the descriptor of `.grad`."""
    is_gradient = len(args) > 1 and args[0] is _DESCRIPTOR and isinstance(args[1], torch.Tensor)
    if not is_gradient or not tracer.sees_python or is_wrapped(args[1]):
        return NOT_HANDLED
    write(tracer, args[1], args[2] if len(args) > 2 else None)
    return None


_DESCRIPTOR: Any = torch.Tensor.grad
SETTERS: dict[int, Step] = {
    id(GetSetDescriptorType.__set__): call_setter,
    id(GetSetDescriptorType.__delete__): call_setter,
}


def put(tracer: TracerView, slot: Slot, value: Any) -> None:
    """`value` is the gradient of a tensor from now on."""
    slot.value, slot.is_written, slot.mark = value, True, tracer.mark()


def neutral(fake: torch.Tensor) -> torch.Tensor | None:
    """A tensor of -0.0 like a gradient that the run has made; None where its sizes vary."""
    if not fake.is_floating_point() or fake.requires_grad or fake.layout is not torch.strided:
        return None
    if any(isinstance(size, torch.SymInt) for size in (*fake.shape, *fake.stride())):
        return None
    with _disable_current_modes(), DisableTorchFunction(), torch.no_grad():
        return torch.empty_strided(fake.shape, fake.stride(), dtype=fake.dtype, device=fake.device).fill_(-0.0)


def _check_fits(tracer: TracerView, owner: torch.Tensor, value: Any) -> None:
    fake = lifted(tracer, owner)
    given = lifted(tracer, value) if isinstance(value, torch.Tensor) else value
    with unrecorded():
        probe = fake.detach()
        probe.grad = given


def judge(run: FinishedRun, call: CallRecord) -> None:
    """A pass over a finished run: the gradients that eager leaves in tensors of the caller's, and the program does not.

    Those of arguments are refused; those of parameters are noted, or refused with effects="exact"."""
    left: list[str] = []
    _check_late(run)
    for slot in run.tracer.own(Gradients):
        if (
            slot.is_outside
            and slot.start is not None
            and not slot.is_begun
            and run.tracer.recorder.is_lifted(slot.start)
        ):
            name = name_of(run.tracer, slot.owner, slot.number)
            run.tracer.note(f"{name}.grad is the buffer grad.{name}; another tensor that is assigned later is not read")
        if not slot.is_outside or (slot.value is slot.start and not slot.is_begun):
            continue
        name = name_of(run.tracer, slot.owner, slot.number)
        if slot.number is not None:
            lose_effect(run, "argument", f"{name}.grad", describe(slot.start), _described(slot.value), "input-gradient")
        elif slot.value is not None:
            left.append(name)
    if not left:
        return
    names = ", ".join(left[:4]) + (f" and {len(left) - 4} more" if len(left) > 4 else "")
    text = f"the program does not set .grad, where the step leaves gradients in eager: of {names}"
    if run.request.exact and not run.tracer.lets_pass(text):
        raise run.tracer.graph_break("gradient-left", target=names)
    run.tracer.note(text)


def changes(tracer: TracerView) -> list[Change]:
    """Return the gradients of parameters that the run leaves; a second trace begins with them."""
    found = []
    left: dict[int, tuple[torch.Tensor, Any]] = {}
    for slot in tracer.own(Gradients):
        if not slot.is_outside or slot.number is not None or slot.value is slot.start:
            continue
        left[id(slot.owner)] = slot.owner, _tried(slot)
        found.append(Change(slot.owner, "attributes", "grad", slot.start, _hidden(tracer, slot), slot.mark))
    if left:
        _leave(tracer, left)
    return found


def _tried(slot: Slot) -> Any:
    """What a second trace begins with: where a branch leaves None or a gradient, the one that this run has not begun
    with."""
    if isinstance(slot.value, GradientOrNone):
        return slot.value.gradient if slot.start is None else None
    return slot.value


def guard(walk: Any, tracer: TracerView) -> None:
    """Guards on the gradients of parameters that the step begins with and reads, and that no second trace has varied:
    None, or the tensor that is a buffer of the program. And guards on hooks that would run in the backward."""
    for slot in tracer.own(Gradients):
        if slot.is_outside and slot.number is None and slot.read_first and slot.value is slot.start:
            source = walk.reached.get(id(slot.owner)) or walk.constant(slot.owner)
            found = None if slot.is_begun else slot.start
            kind = "is" if found is None else "same_tensor"
            walk.add(kind, walk.child(source, "attribute", "grad"), found, None)
    for tensor, kinds in tracer.own(WithoutHooks).all:
        source = walk.reached.get(id(tensor)) or walk.constant(tensor)
        walk.add("contents", source, partial(has_no_hooks, kinds=kinds), None)


def _described(value: Any) -> str:
    return f"None or {describe(value.gradient)}" if isinstance(value, GradientOrNone) else describe(value)


def _hidden(tracer: TracerView, slot: Slot) -> HiddenValue:
    is_used = slot.start is not None and tracer.recorder.is_lifted(slot.start)
    is_alike = slot.start is not None and slot.value is not None and not is_used
    name = name_of(tracer, slot.owner, slot.number)
    if isinstance(slot.value, GradientOrNone):
        what = "is None or a tensor after the step, as a branch on data goes"
    elif slot.value is None:
        what = "is a tensor when the step begins, and None after it"
    elif slot.start is None:
        what = "is None when the step begins, and a tensor after it"
    else:
        what = "is used before the step replaces it"
    names = {"target": f"the .grad of {name}", "what": what}
    is_scratch = not slot.read_first or is_alike
    return HiddenValue(f"the .grad of {name}", _described(slot.value), is_scratch, "kept-gradient", names)


def _leave(tracer: TracerView, left: dict[int, tuple[torch.Tensor, Any]]) -> None:
    before = dict(_LEFT)

    def undo() -> None:
        _LEFT.clear()
        _LEFT.update(before)

    tracer.journal.on_rollback(undo)
    _LEFT.update(left)
