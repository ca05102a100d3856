"""Shared by the tests of dynamic_shapes: declaring a call without tracing it."""

from __future__ import annotations

import dataclasses
import inspect
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch.utils import _pytree as pytree

from dynamo_lite.program.shapes.dynamic_shapes import DeclaredInputs, declare_inputs, read_call
from dynamo_lite.program.trees.inputs import flatten_inputs
from dynamo_lite.symbolic_shapes.torch_env.env import TorchShapeEnv


class Pair(NamedTuple):
    left: Any
    right: Any


@dataclasses.dataclass
class Batch:
    """Registered with pytree, as torch.export.register_dataclass does it."""

    data: Any
    mask: Any = None


class Cache:
    """Not known to pytree: our own rule for containers applies."""

    def __init__(self, *layers: torch.Tensor) -> None:
        self.layers = list(layers)
        self.scale = 2.0


torch.export.register_dataclass(Batch, serialized_type_name="tests.dynamic.Batch")


def tensor(*shape: int) -> torch.Tensor:
    return torch.zeros(shape)


def declared(f: Callable[..., Any], args: tuple[Any, ...], specs: Any, kwargs: dict[str, Any] | None = None,
             constraints: Any = None) -> tuple[DeclaredInputs, TorchShapeEnv]:
    """The symbols for a call of `f`."""
    call = read_call(inspect.signature(f), args, kwargs, specs, constraints)
    env = TorchShapeEnv()
    return declare_inputs(flatten_inputs(call.signature, call.args, call.kwargs), call.specs, env), env


def sizes(f: Callable[..., Any], args: tuple[Any, ...], specs: Any, kwargs: dict[str, Any] | None = None,
          constraints: Any = None) -> dict[str, str]:
    """How each dimension and integer that may vary is written: {"x.shape[0]": "s0", "y.shape[1]": "2*s0 + 1"}."""
    inputs, _env = declared(f, args, specs, kwargs, constraints)
    found: dict[str, str] = {}
    for label, policy in zip(inputs.dims.labels, inputs.policies):
        if hasattr(policy, "sizes"):
            found.update({f"{label}.shape[{i}]": str(s) for i, s in enumerate(policy.sizes) if s is not None})
        elif policy is not None:
            found[label] = str(policy)
    return found


__all__ = ["Batch", "Cache", "OrderedDict", "Pair", "declared", "pytree", "sizes", "tensor"]
