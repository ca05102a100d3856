"""Attributes of tensors: what the program may read of them, and what a stand-in would answer wrongly."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from dynamo_lite.capture.fakes import static_cache
from dynamo_lite.interpreter import datamodel
from dynamo_lite.interpreter.observer import DELETED
from dynamo_lite.tracing.heap.snapshots import MISSING
from dynamo_lite.tracing.interfaces import Trace
from dynamo_lite.tracing.tensors import autograd_nodes, type_queries
from dynamo_lite.tracing.vocabulary.program_points import Mark
from dynamo_lite.tracing.vocabulary.symbolic_numbers import real_type
from dynamo_lite.tracing.vocabulary.type_tests import is_fake


def carry_over(tensors: Sequence[Any], stand_ins: Sequence[Any]) -> None:
    """Give the stand-ins of the arguments the Python attributes that the caller has put on the tensors."""
    for tensor, stand_in in zip(tensors, stand_ins):
        if is_fake(stand_in) and not is_fake(tensor):
            for name, value in tensor.__dict__.items():
                stand_in.__dict__.setdefault(name, value)


def read_attribute(tracer: Trace, owner: torch.Tensor, key: str, value: Any) -> Any:
    """The reader of tensors (read_plans.py)."""
    tracer.reads.tensor_attribute(owner, key)
    return read(tracer, owner, key, value)


def read(tracer: Trace, owner: torch.Tensor, key: str, value: Any) -> Any:
    """What the program sees when it reads the attribute `key` of a tensor. Raises what ends the trace."""
    if key == "__class__":
        type_queries.type_of(tracer, owner)
        return real_type(owner) if is_fake(owner) else value
    if key == "grad" and (value is not None or _has_grad(tracer, owner)):
        tracer.refuse("tensor-attribute", name="grad")
    if key == "grad_fn" and value is not None:
        autograd_nodes.note(tracer, value)  # `is None` may be asked; what is in it may not
    if tracer.in_library():
        return value
    if key in autograd_nodes.FLAGS:
        return autograd_nodes.flag(tracer, owner, key, value)
    if key == "_version":
        tracer.refuse("unrecordable-value", function="Tensor._version")
    if key == "_base":
        base = static_cache.base_of(owner)
        autograd_nodes.check_base(tracer, owner, base)
        return base
    return value


@dataclass(frozen=True)
class Lost:
    """An attribute that the program sets on a tensor from outside, which the exported program does not."""

    target: str
    old: Any
    new: Any
    mark: Mark


def drop(tracer: Trace, owner: torch.Tensor, key: str, value: Any) -> bool:
    """Whether a write to the attribute `key` of a tensor from outside is let go: it holds for the rest of the run."""
    if not tracer.drops_attributes() or datamodel.type_lookup(type(owner), key) is not datamodel.MISSING:
        return False
    number = tracer.recorder.input_number(owner)
    name = "a tensor" if number is None else tracer.inputs.names[number]
    old, new = vars(owner).get(key, MISSING), MISSING if value is DELETED else value
    tracer.lost_attributes.append(Lost(f"the attribute {key} of {name}", old, new, tracer.mark()))
    if number is None:
        tracer.journal.on_rollback(as_it_is(owner, key))
    return True


def as_it_is(owner: torch.Tensor, key: str) -> Callable[[], None]:
    """What puts the attribute back as it is now."""
    namespace = vars(owner)
    value = namespace.get(key, MISSING)

    def undo() -> None:
        if value is MISSING:
            namespace.pop(key, None)
        else:
            namespace[key] = value

    return undo


def _has_grad(tracer: Trace, owner: torch.Tensor) -> bool:
    """Whether `owner` stands for an argument that has a gradient."""
    number = tracer.recorder.input_number(owner)
    return number is not None and getattr(tracer.inputs.leaves[number], "grad", None) is not None
