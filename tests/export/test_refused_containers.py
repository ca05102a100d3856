"""An export that fails leaves no class registered with torch's pytree: the user's own calls of it work as before."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch
from torch.utils import _pytree as pytree

import dynamo_lite


class Wrapper:
    """As in a library of its own tensors: what torch is asked of it is asked of the tensor inside."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor = tensor

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*pytree.tree_map_only(Wrapper, lambda wrapper: wrapper.tensor, args), **(kwargs or {}))


class Box:
    def __init__(self, *parts: Any) -> None:
        self.parts = parts


def in_shapes(box: Box) -> Any:
    return box.parts[0].view(2, -1)


FAILING: dict[str, Any] = {
    "refused": (lambda w: torch.add(w, 1.0), Wrapper(torch.ones(2)), None),
    "an error of its own": (lambda box: box.parts[0] + torch.ones(7), Box(torch.ones(2)), None),
    "an input that no program takes": (lambda box: box.parts[0], Box(torch.ones(2), {1, 2}), None),
    "a result that no program takes": (lambda x: (Box(x), {1, 2}), torch.ones(2), None),
    "sizes": (in_shapes, Box(torch.ones(2)), {"box": {"parts": ({0: torch.export.Dim("n", min=1)},)}}),
}


@pytest.mark.parametrize("name", FAILING)
@pytest.mark.parametrize("strict", [True, False])
def test_the_class_is_a_leaf_again(name: str, strict: bool) -> None:
    program, value, shapes = FAILING[name]
    known, named = dict(pytree.SUPPORTED_NODES), dict(pytree.SERIALIZED_TYPE_TO_PYTHON_TYPE)
    if name == "refused" and not strict:
        pytest.skip("CPython runs the program, and meets the class that the export has registered")
    for _ in range(2):
        with pytest.raises(Exception), warnings.catch_warnings():  # noqa: B017
            dynamo_lite.export(program, (value,), dynamic_shapes=shapes, strict=strict)
        assert pytree.SUPPORTED_NODES.keys() == known.keys() and named == pytree.SERIALIZED_TYPE_TO_PYTHON_TYPE
    assert torch.equal(torch.add(Wrapper(torch.ones(2)), 1.0), torch.full((2,), 2.0))


def test_an_outer_export_keeps_its_own() -> None:
    class Inner:
        def __init__(self, x: Any) -> None:
            self.x = x

    def forward(box: Box) -> torch.Tensor:
        return box.parts[0] * 2

    box = Box(torch.ones(2))
    program = dynamo_lite.export(forward, (box,))
    with pytest.raises(Exception):  # noqa: B017
        dynamo_lite.export(lambda box, inner: inner.x @ torch.ones(9), (box, Inner(torch.ones(2))))
    assert Box in pytree.SUPPORTED_NODES and Inner not in pytree.SUPPORTED_NODES
    assert torch.equal(program.module()(Box(torch.ones(2))), torch.full((2,), 2.0))
    again = dynamo_lite.export(lambda inner: inner.x + 1, (Inner(torch.ones(2)),))
    assert torch.equal(again.module()(Inner(torch.ones(2))), torch.ones(2) + 1)
