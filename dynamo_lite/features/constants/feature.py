"""The record of `constants`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from dynamo_lite.errors import InvalidArguments
from dynamo_lite.program.trees.paths import path_in_words
from dynamo_lite.symbolic_shapes.torch_node.symbolic_types import SYMBOLIC_TYPES
from dynamo_lite.tracing.assumptions.input_guards import InputGuards
from dynamo_lite.tracing.feature import Feature
from dynamo_lite.tracing.interfaces import TracerView


@contextmanager
def _known(tracer: TracerView) -> Iterator[None]:
    """Within it the data of the inputs given by value is known."""
    inputs, recorder = tracer.inputs, tracer.recorder
    for number in inputs.constants:
        _check_sizes(path_in_words(inputs.key_paths[number]), recorder.input_nodes[number].meta["val"])
    for number, (value, guard) in inputs.fixed.items():
        recorder.constant_values.given[recorder.input_nodes[number]] = value
        if value.numel():
            tracer.own(InputGuards).add(guard)
    yield


def _check_sizes(name: str, value: object) -> None:
    sizes = value.shape if isinstance(value, torch.Tensor) else (value,)
    if any(isinstance(size, SYMBOLIC_TYPES) for size in sizes):
        raise InvalidArguments(f"constants: dynamic_shapes lets {name} vary, which is to be a constant")


FEATURE = Feature(name="constants", around=_known)
