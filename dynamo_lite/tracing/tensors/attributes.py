"""Attributes of tensors: those that the program may read, and those that a fake tensor would answer wrongly."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from dynamo_lite.capture import layout_sources
from dynamo_lite.capture.fakes import fake_attributes, results
from dynamo_lite.capture.fakes.data_assignment import shows_same
from dynamo_lite.interpreter import datamodel
from dynamo_lite.interpreter.observer import DELETED, NOT_HANDLED
from dynamo_lite.torch_internals._torch_dispatch import DisableTorchFunction
from dynamo_lite.tracing.feature import TensorAttribute
from dynamo_lite.tracing.findings import DtypeReads
from dynamo_lite.tracing.heap import instance_dicts
from dynamo_lite.tracing.heap.snapshots import MISSING
from dynamo_lite.tracing.interfaces import FeatureState, TracerView
from dynamo_lite.tracing.tensors import assigned_data, autograd_nodes, toggled_flags, type_queries
from dynamo_lite.tracing.vocabulary.program_points import Mark
from dynamo_lite.tracing.vocabulary.symbolic_numbers import SYMBOLIC, real_type
from dynamo_lite.tracing.vocabulary.type_tests import is_fake, is_tensor, is_wrapped

_PARTS = frozenset({"real", "imag"})
"""Attributes that are set by an operator: copy_() into a view of the tensor."""


class TensorWrites(FeatureState):
    """The program's writes to attributes of tensors.

    lost: attributes that it sets on older tensors, and that are left out of the program
    inference: where it first entered torch.inference_mode
    made_leaf: where the program first set requires_grad on a tensor of its own
    wrappers: the tensors around others that it has made, by id
    assigned: assignments to `.data` of older tensors; there are none on a side of a branch
    """

    stays = "the places and attributes are noted or refused, on whichever side they are"

    def __init__(self, tracer: TracerView) -> None:
        self.lost: list[LostAttribute] = []
        self.made_leaf: Mark | None = None
        self.inference: Mark | None = None
        self.wrappers: dict[int, Any] = {}
        self.assigned: list[assigned_data.DataAssignment] = []


def carry_over(tensors: Sequence[Any], fakes: Sequence[Any]) -> None:
    """Give the fake tensors of the arguments the Python attributes that the caller has put on the tensors, and the mark
    of a parameter."""
    for tensor, fake in zip(tensors, fakes):
        if is_fake(fake) and not is_fake(tensor):
            for name, value in tensor.__dict__.items():
                fake.__dict__.setdefault(name, value)
            if isinstance(tensor, torch.nn.Parameter):
                fake.__dict__["_is_param"] = True  # what isinstance() and real_type() go by


def read_attribute(tracer: TracerView, owner: torch.Tensor, key: str, value: Any) -> Any:
    """The reader of tensors (read_plans.py)."""
    tracer.reads.tensor_attribute(owner, key)
    if key == "dtype" and value.is_floating_point:
        tracer.own(DtypeReads).note()
    return read(tracer, owner, key, value)


def read(tracer: TracerView, owner: torch.Tensor, key: str, value: Any) -> Any:
    """Return the value that the program reads for attribute `key` of a tensor, or end the trace with an error."""
    if key == "__class__":
        type_queries.type_of(tracer, owner)
        return real_type(owner) if is_fake(owner) else value
    if key in tracer.features.attributes and (attribute := _of_features(tracer, owner, key)) is not None:
        return attribute.read(tracer, owner)
    if key == "grad" and (value is not None or _has_grad(tracer, owner)):
        tracer.refuse("tensor-attribute", name="grad")
    if key == "grad_fn" and value is not None:
        autograd_nodes.note(tracer, value)  # only `is None` may be tested; its contents may not be read
    if tracer.in_library():
        return value
    if is_fake(owner) and fake_attributes.is_hidden(key):
        return fake_attributes.read(real_type(owner), owner, key)
    if key in autograd_nodes.FLAGS:
        return autograd_nodes.flag(tracer, owner, key, value)
    if key == "_version":
        tracer.refuse("unrecordable-value", function="Tensor._version")
    if key == "_cdata":
        tracer.refuse("unrecordable-id", function="Tensor._cdata")
    if key == "_base":
        base = results.base_of(owner)
        layout_sources.asked_for_base(tracer.recorder, owner)
        autograd_nodes.check_base(tracer, owner, base)
        return tracer.recorder.original(base)
    return fake_attributes.as_of_tensors(real_type(owner), owner, value) if is_fake(owner) else value


@dataclass(frozen=True)
class LostAttribute:
    """An attribute that the program sets on an older tensor, which the exported program does not."""

    target: str
    old: Any
    new: Any
    mark: Mark


def drop(tracer: TracerView, owner: torch.Tensor, key: str, value: Any) -> bool:
    """Whether a write to attribute `key` of an older tensor is left out of the program; it holds for the run."""
    if not tracer.drops or datamodel.type_lookup(type(owner), key) is not datamodel.MISSING:
        return False
    number = tracer.recorder.input_number(owner)
    name = "a tensor" if number is None else tracer.inputs.names[number]
    old, new = vars(owner).get(key, MISSING), MISSING if value is DELETED else value
    tracer.own(TensorWrites).lost.append(LostAttribute(f"the attribute {key} of {name}", old, new, tracer.mark()))
    if number is None:
        tracer.journal.on_rollback(as_it_is(owner, key))
    return True


def write(tracer: TracerView, owner: torch.Tensor, key: str, value: Any) -> bool:
    """The program sets an attribute of a tensor. Raises what ends the trace. True: a feature keeps the value itself."""
    if is_wrapped(owner):
        return False
    if key in tracer.features.attributes and (attribute := _of_features(tracer, owner, key)) is not None:
        attribute.write(tracer, owner, value)
        return True
    writes = tracer.own(TensorWrites)
    outside = not (is_fake(owner) or id(owner) in writes.wrappers) or tracer.recorder.is_input(owner)
    if key == "requires_grad" and value == owner.requires_grad:
        return False
    if outside and drop(tracer, owner, key, value):
        return False
    if outside and key == "requires_grad" and type(value) is bool and toggled_flags.toggle(tracer, owner):
        return False
    taken = is_fake(owner) and fake_attributes.is_hidden(key) and not tracer.in_library()
    if key == "grad" or (outside and key != "data" and key not in _PARTS) or taken:
        tracer.refuse("tensor-attribute", name=key)
    check_around(tracer, owner, f"sets {key} of a tensor")
    tracer.recorder.layout.matters(owner, "changed")
    if key == "requires_grad":
        writes.made_leaf = writes.made_leaf or tracer.mark()
    elif key == "data" and outside and (_is_moved(writes, owner) or not _shows_same(tracer, owner, value)):
        if (row := assigned_data.carry(tracer, owner, value)) is not None:
            writes.assigned.append(row)
            return True
        tracer.refuse("tensor-data-assigned", name="data")
    return False


def check_around(tracer: TracerView, tensor: torch.Tensor, does: str) -> None:
    """Refuse a change of a tensor that no snapshot covers, if a sub-graph is being made and the tensor is an outer one.

    does: a description of the change."""
    if tracer.recorder.levels.is_from_around(tensor):
        tracer.on_hidden_change(tensor, does)  # a side of a branch has its own error text
        tracer.refuse("subgraph-effect", operator="a control-flow operator", what=f"a tensor from around: it {does}")


def _is_moved(writes: TensorWrites, owner: torch.Tensor) -> bool:
    """Whether an assignment to `.data` before has given the tensor other memory."""
    return any(row.owner is owner for row in writes.assigned)


def _shows_same(tracer: TracerView, owner: torch.Tensor, value: Any) -> bool:
    if not is_tensor(value):
        return False
    with DisableTorchFunction():  # not the program's questions about layout
        return bool(shows_same(tracer.recorder, owner, value))


def as_it_is(owner: torch.Tensor, key: str) -> Callable[[], None]:
    """Return a function that restores the attribute's current value."""
    namespace = vars(owner)
    value = namespace.get(key, MISSING)

    def undo() -> None:
        if value is MISSING:
            namespace.pop(key, None)
        else:
            namespace[key] = value

    return undo


def _of_features(tracer: TracerView, owner: torch.Tensor, key: str) -> TensorAttribute | None:
    """Return the record of the feature that answers for attribute `key` of a tensor."""
    return tracer.features.attributes.get(key) if tracer.sees_python and not is_wrapped(owner) else None


def _has_grad(tracer: TracerView, owner: torch.Tensor) -> bool:
    """Whether `owner` represents an argument that has a gradient."""
    number = tracer.recorder.input_number(owner)
    return number is not None and getattr(tracer.inputs.leaves[number], "grad", None) is not None


def call_getter(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`torch.Tensor.grad_fn.__get__(x)`, `CellType.cell_contents.__get__(c)`: the descriptor of an attribute."""
    if len(args) < 2 or tracer.in_library():
        return NOT_HANDLED
    is_answered = isinstance(args[1], torch.Tensor) and _of_features(tracer, args[1], args[0].__name__) is not None
    if not is_fake(args[1]) and not is_answered:
        _read_by_getter(tracer, args[1], args[0].__name__)
        return NOT_HANDLED
    return read_attribute(tracer, args[1], args[0].__name__, fn(*args, **kwargs))


def _read_by_getter(tracer: TracerView, owner: Any, name: str) -> None:
    if name not in instance_dicts.NAMES:  # an object's `__dict__` is known as what it is
        tracer.reads.read_first.setdefault((id(owner), name), True)
        tracer.reads.attribute(owner, name)


def call_dir(tracer: TracerView, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """dir() of a tensor or a size."""
    if len(args) != 1 or tracer.in_library():
        return NOT_HANDLED
    if type(args[0]) in SYMBOLIC:
        return dir(real_type(args[0]))
    if not is_fake(args[0]):
        return NOT_HANDLED
    return sorted({*dir(real_type(args[0])), *fake_attributes.of_the_user(args[0])})
