"""Outer tensors that the program reads: parameters, buffers and constants become inputs of the graph."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

import torch
from torch import fx, nn
from torch.nn.parameter import is_lazy

from dynamo_lite.capture._torch import FakeTensor, _disable_current_modes
from dynamo_lite.capture.module_tree import ModuleTree
from dynamo_lite.errors import InvalidArguments
from dynamo_lite.torch_internals._torch_dispatch import DisableTorchFunction, _DisablePythonDispatcher


class LiftedKind(Enum):
    PARAMETER = "parameter"
    BUFFER = "buffer"
    CONSTANT = "constant"


@dataclass
class Lifted:
    """One tensor that is an input of the graph without being an argument of the program.

    `tensor` is the program's own, and a copy only if it would drag an autograd graph along or has memory that no tensor
    owns (`shows_foreign_memory`); `fqn` is its name in the signature, `node` its placeholder, `fake` the fake tensor
    that operators run on.
    """

    kind: LiftedKind
    fqn: str
    tensor: torch.Tensor
    fake: torch.Tensor
    node: fx.Node
    persistent: bool | None = None
    mark: Any = ()  # where the program first used a constant that requires grad


@dataclass(frozen=True)
class StateEntry:
    """A registered parameter or buffer: its first name in `named_parameters` / `named_buffers` order.

    A buffer that is persistent under some of its names has the first of those.
    """

    kind: LiftedKind
    fqn: str
    tensor: torch.Tensor
    persistent: bool | None


def shows_foreign_memory(tensor: torch.Tensor) -> bool:
    """Whether `tensor` shows the memory of a numpy array.

    Python writes into that memory where no operator is seen. So the value of such a constant is the one that it has
    when the program first gives it to an operator: `torch.tensor(array)` is a copy that C++ makes with an operator, of
    a tensor on the array's memory.
    """
    if tensor.layout is not torch.strided or isinstance(tensor, FakeTensor) or not tensor.is_cpu:
        return False
    try:
        return not tensor.untyped_storage().resizable()
    except (NotImplementedError, RuntimeError):  # a tensor without storage: a wrapper, an opaque one
        return False


@contextmanager
def modes_off() -> Iterator[None]:
    """Operators run on the tensors that they are given, and are not recorded, wherever the recorder is."""
    with DisableTorchFunction(), _disable_current_modes(), _DisablePythonDispatcher():
        yield


def copied(tensor: torch.Tensor) -> torch.Tensor:
    """A tensor of the same value, strides and place in its own memory. No operator is recorded."""
    with modes_off(), torch.no_grad():
        return tensor.detach().clone(memory_format=torch.preserve_format).requires_grad_(tensor.requires_grad)


def registered_state(root: nn.Module | None) -> Iterator[StateEntry]:
    """Each registered tensor once, parameters before buffers, as torch.export orders the placeholders.

    Raises InvalidArguments for a parameter of a lazy module that has not been called yet.
    """
    if root is None:
        return
    tree = ModuleTree(root)
    buffers = tree.buffers
    seen: set[int] = set()
    for fqn, parameter in tree.parameters:
        if is_lazy(parameter):
            raise InvalidArguments(f"the parameter {fqn} has no shape yet: call the (lazy) module once before export")
        if id(parameter) not in seen:
            seen.add(id(parameter))
            yield StateEntry(LiftedKind.PARAMETER, fqn, parameter, None)
    transient = tree.transient
    # A loaded state must reach the operators: of several names, the first persistent one.
    names = {id(buffer): fqn for fqn, buffer in reversed(buffers)}
    names |= {id(buffer): fqn for fqn, buffer in reversed(buffers) if fqn not in transient}
    for fqn, buffer in buffers:
        if names[id(buffer)] == fqn:
            yield StateEntry(LiftedKind.BUFFER, fqn, buffer, fqn not in transient)


def constant_attributes(root: nn.Module | None) -> dict[int, str]:
    """`{id(tensor): FQN}` of the tensors that are plain attributes of the modules (not registered)."""
    found: dict[int, str] = {}
    for prefix, module in ModuleTree(root).first_modules:
        dot = f"{prefix}." if prefix else ""
        for name, value in vars(module).items():
            if isinstance(value, torch.Tensor):
                found.setdefault(id(value), dot + name)
    return found


class Unwritable(NamedTuple):
    """Memory that represents memory elsewhere: the graph break for a write to it, with its texts.

    `tensors` are kept alive: memory is identified by a key of a live object.
    """

    id: str
    what: str
    instead: str
    details: dict[str, str]
    tensors: list[torch.Tensor]


def are_alike(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two fake tensors have the same dtype, device, shape and requires_grad."""
    if one.dtype is not other.dtype or one.device != other.device or one.requires_grad != other.requires_grad:
        return False
    return one.shape == other.shape
