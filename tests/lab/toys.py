"""Exporters that are wrong in one way each: the laboratory has to see it."""

from __future__ import annotations

import copy
import os
import random
import time
from typing import Any

import torch


class Toy:
    """A toy that calls a copy of the module, and `spoil`s the result."""

    name, version = "toy", "1"

    def export(self, module: Any, args: Any, kwargs: Any, dynamic_shapes: Any) -> Any:
        own = copy.deepcopy(module) if isinstance(module, torch.nn.Module) else module
        if not isinstance(own, torch.nn.Module):
            return lambda *a, **k: self.spoil(own(*a, **k))
        own.register_forward_hook(lambda module, args, result: self.spoil(result))
        return own

    def spoil(self, result: Any) -> Any:
        return result

    def reset(self) -> None:
        pass


class OnTensors(Toy):
    def spoil(self, result: Any) -> Any:
        return torch.utils._pytree.tree_map_only(torch.Tensor, self.tensor, result)

    def tensor(self, x: torch.Tensor) -> torch.Tensor:
        raise NotImplementedError


class Values(OnTensors):
    def tensor(self, x: torch.Tensor) -> torch.Tensor:
        return x + 1e-2


class Dtypes(OnTensors):
    def tensor(self, x: torch.Tensor) -> torch.Tensor:
        return x.double()


class Strides(OnTensors):
    def tensor(self, x: torch.Tensor) -> torch.Tensor:
        return x.t().contiguous().t() if x.dim() == 2 else x


class Shapes(OnTensors):
    def tensor(self, x: torch.Tensor) -> torch.Tensor:
        return x[None]


class Copies(OnTensors):
    def tensor(self, x: torch.Tensor) -> torch.Tensor:
        return x.clone()


class Detached(OnTensors):
    def tensor(self, x: torch.Tensor) -> torch.Tensor:
        return x.detach()


class ScaledGradients(OnTensors):
    def tensor(self, x: torch.Tensor) -> torch.Tensor:
        return x * 2 - x.detach() if x.requires_grad else x


class Draws(Toy):
    def spoil(self, result: Any) -> Any:
        torch.rand(1)
        return result


class PythonDraws(Toy):
    def spoil(self, result: Any) -> Any:
        random.random()
        return result


class NoGrad(Toy):
    def spoil(self, result: Any) -> Any:
        torch.set_grad_enabled(False)
        return result


class Swallows(Toy):
    """Answers where eager raises."""

    def export(self, module: Any, args: Any, kwargs: Any, dynamic_shapes: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            try:
                return module(*args, **kwargs)
            except ValueError:
                return args[0]

        return call


class OnCopies(Toy):
    """Leaves the caller's arguments, and the state of the module, as they were."""

    def export(self, module: Any, args: Any, kwargs: Any, dynamic_shapes: Any) -> Any:
        own = copy.deepcopy(module)
        return lambda *args, **kwargs: own(*copy.deepcopy(args), **copy.deepcopy(kwargs))


class Recorded(Toy):
    """The ten-line toy of docs/soundness.md: it answers each call with the result of the example."""

    def export(self, module: Any, args: Any, kwargs: Any, dynamic_shapes: Any) -> Any:
        result = module(*args, **kwargs)
        return lambda *args, **kwargs: result


class Rejects(Toy):
    def export(self, module: Any, args: Any, kwargs: Any, dynamic_shapes: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            raise KeyError("no")

        return call


class Refuses(Toy):
    def export(self, module: Any, args: Any, kwargs: Any, dynamic_shapes: Any) -> Any:
        raise NotImplementedError("never")


class Ends(Toy):
    """What it does depends on the module: a process ends by a signal, by an exit, late, or short of memory; or prints.

    A line of JSON on the output of the process is no answer.
    """

    def export(self, module: Any, args: Any, kwargs: Any, dynamic_shapes: Any) -> Any:
        match type(module).__name__:
            case "Counter":
                os.abort()
            case "First":
                os._exit(3)
            case "Sum":
                time.sleep(600)
            case "Mean":
                return module, torch.ones(1 << 30)
            case "Tied":
                os.write(1, b'{"id": "x"}\n')
        return module


class NoExporter:
    name = "none"
