"""The models that export is tried on, as data: name → builder.

A builder takes nothing and returns a `Case`: a module with random weights, tiny, made offline, and a function from a
seed to example inputs. `@model("name", ...)` adds one to `MODELS`. To add a model, write a builder (or a row of a
table that makes builders) in a module named in `SOURCES`; nothing else needs to know.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import torch
from torch import nn

Inputs = tuple[tuple[Any, ...], dict[str, Any]]

CORE: Final = "core"
"""The models that `make test` exports; the others (`LONG`) are run by `make models`."""
LONG: Final = "long"

SOURCES: Final = {
    CORE: ("core_torch", "core_transformers"),
    LONG: ("long_text", "long_vision", "long_audio", "long_multimodal"),
}


@dataclass(frozen=True)
class Case:
    """A module and its inputs.

    `inputs(seed)` makes (args, kwargs): the same shapes, dtypes and structure for every seed, other values; each call
    makes new objects, since a model may change what it is given (a cache). `tolerance` is the largest absolute and
    relative difference from eager that passes; 0 asks for the same bits.
    """

    module: nn.Module
    inputs: Callable[[int], Inputs]
    tolerance: float = 1e-5


@dataclass(frozen=True)
class Model:
    """An entry of the registry. `refused_by_torch` says why torch.export(strict=True) refuses the model, if it does."""

    name: str
    build: Callable[[], Case]
    group: str
    family: str
    refused_by_torch: str | None = None

    def case(self, seed: int = 0) -> Case:
        """Build the module; its weights are the same for the same seed."""
        torch.manual_seed(seed)
        return self.build()


MODELS: dict[str, Model] = {}


def add(model: Model) -> None:
    """Register `model`; raises ValueError if its name is taken."""
    if model.name in MODELS:
        raise ValueError(f"two models are called {model.name!r}")
    MODELS[model.name] = model


def model(
    name: str, group: str = CORE, family: str = "torch", refused_by_torch: str | None = None
) -> Callable[[Callable[[], Case]], Callable[[], Case]]:
    """Register the decorated builder under `name`."""

    def register(build: Callable[[], Case]) -> Callable[[], Case]:
        add(Model(name, build, group, family, refused_by_torch))
        return build

    return register


def load(*groups: str) -> dict[str, Model]:
    """The models of `groups`, imported on demand, in the order in which their files list them."""
    for group in groups:
        for source in SOURCES[group]:
            importlib.import_module(f"{__package__}.{source}")
    return {name: found for name, found in MODELS.items() if found.group in groups}
