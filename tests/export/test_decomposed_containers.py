"""run_decompositions of programs whose containers a library has registered with functions that compute."""

from __future__ import annotations

import io
from typing import Any

import pytest
import torch
from torch import nn
from torch.export import Dim
from torch.utils import _pytree as pytree

import dynamo_lite

ROWS = Dim("rows", min=2, max=30)


class Refilled:
    """A cache that its registration makes again by filling an empty one, as those of transformers are."""

    def __init__(self) -> None:
        self.keys = torch.zeros(0, 4)

    def update(self, keys: torch.Tensor) -> Refilled:
        self.keys = torch.cat([torch.tensor([]).reshape(0, 4), keys])
        return self


def refill(children: Any, context: Any) -> Refilled:
    return Refilled().update(next(iter(children)))


pytree.register_pytree_node(
    Refilled, lambda cache: ([cache.keys], None), refill, serialized_type_name=f"{__name__}.Refilled"
)


class Step(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.register_buffer("steps", torch.zeros(()))

    def forward(self, x: torch.Tensor, cache: Refilled, *, other: dict[str, torch.Tensor]) -> Any:
        self.steps.add_(1)
        out = Refilled()
        out.keys = torch.cat([cache.keys, self.layer(x)]) * self.steps + other["z"] - other["a"]
        return {"cache": out, "n": cache.keys.shape[0]}


def call(rows: int) -> tuple[tuple[Any, ...], dict[str, Any]]:
    cache = Refilled()
    cache.keys = torch.randn(rows, 4)
    return (torch.randn(1, 4), cache), {"other": {"z": torch.randn(1, 4), "a": torch.randn(1, 4)}}


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("table", [None, {}])
def test_a_decomposed_program_takes_and_gives_the_containers(dynamic: bool, table: Any) -> None:
    args, kwargs = call(3)
    shapes = {"x": None, "cache": [{0: ROWS}], "other": None} if dynamic else None
    model = Step()
    program = dynamo_lite.export(model, args, kwargs, dynamic_shapes=shapes)
    once = program.run_decompositions(table)
    file = io.BytesIO()
    with torch.serialization.safe_globals([Refilled]):
        dynamo_lite.save(once, file)
        file.seek(0)
        forms = [once, once.run_decompositions(table), dynamo_lite.load(file)]
    state = {name: value.clone() for name, value in model.state_dict().items()}
    for form in forms:
        args, kwargs = call(7 if dynamic else 3)
        module = form.module()
        module.load_state_dict(state)
        got = module(*args, **kwargs)
        model.load_state_dict(state)  # which may be the module's own
        want = model(*args, **kwargs)
        assert type(got["cache"]) is Refilled and got["n"] == want["n"]
        assert torch.allclose(got["cache"].keys, want["cache"].keys)
        assert form.module_call_graph[0].signature == program.module_call_graph[0].signature
        with pytest.raises(dynamo_lite.InputMismatch):
            args, kwargs = call(31 if dynamic else 4)
            module(*args, **kwargs)
    assert once._guards_code == program._guards_code
