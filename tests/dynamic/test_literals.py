"""torch.tensor and its like on lists that hold tensors and sizes, against eager with other numbers in them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim

import dynamo_lite

LITERALS: dict[str, Callable[[Any, Tensor, Tensor], Tensor]] = {
    "floats": lambda m, x, i: torch.tensor([x[0], x[1]]),
    "nested": lambda m, x, i: torch.tensor([[x[0], 2.0], [i, x.shape[0]]]),
    "one_element_each": lambda m, x, i: torch.tensor([x[:1], x[None, 1:2]]),
    "a_buffer": lambda m, x, i: torch.tensor([m.scale, 1.0]),
    "a_parameter": lambda m, x, i: torch.tensor((m.bias, x.shape[0])),
    "promoted": lambda m, x, i: torch.tensor([i, x.double().sum()]),
    "truth": lambda m, x, i: torch.tensor([x[0] > 0, True, x.shape[0] > 3]),
    "of_a_type": lambda m, x, i: torch.tensor([i, 3], dtype=torch.float64),
    "half": lambda m, x, i: torch.tensor([x[0].half(), 1.0]),
    "as_tensor": lambda m, x, i: torch.as_tensor([i, x.shape[0]], dtype=torch.int32),
    "asarray": lambda m, x, i: torch.asarray([x[1], 2.0]),
    "new_tensor": lambda m, x, i: x.new_tensor([i, 2]),
    "new": lambda m, x, i: x.new([i, x[0]]),
    "legacy": lambda m, x, i: torch.Tensor([m.scale, x[0]]) + torch.FloatTensor([x[1], x.shape[0]]),
    "legacy_integers": lambda m, x, i: torch.LongTensor([i, x.shape[0]]),
    "one_size": lambda m, x, i: torch.tensor(x.shape[0] / 2),
}


class Holder(nn.Module):
    def __init__(self, make: Callable[[Any, Tensor, Tensor], Tensor]) -> None:
        super().__init__()
        self.make = make
        self.register_buffer("scale", torch.tensor(3.0))
        self.bias = nn.Parameter(torch.tensor(2.0))

    def forward(self, x: Tensor, i: Tensor) -> Tensor:
        return self.make(self, x, i)


def exported(make: Callable[[Any, Tensor, Tensor], Tensor]) -> tuple[nn.Module, nn.Module]:
    module = Holder(make)
    program = dynamo_lite.export(module, (torch.ones(4), torch.tensor(1)), dynamic_shapes=({0: Dim.AUTO}, None))
    return module, program.module()


@pytest.mark.parametrize("name", LITERALS)
@pytest.mark.filterwarnings("ignore:Converting a tensor")
def test_numbers_in_a_list_are_those_of_the_call(name: str) -> None:
    module, program = exported(LITERALS[name])
    state = {"scale": torch.tensor(7.0), "bias": torch.tensor(-1.0)}
    module.load_state_dict(state)
    program.load_state_dict(state)
    inputs = torch.tensor([0.5, -1.5, 2.0, 8.0, 9.0]), torch.tensor(6)
    got, want = program(*inputs), module(*inputs)
    torch.testing.assert_close(got, want)
    assert got.dtype == want.dtype and got.shape == want.shape and got.requires_grad == want.requires_grad


@pytest.mark.parametrize(
    "make",
    [
        lambda m, x, i: torch.tensor([x[0]], dtype=torch.int64),
        lambda m, x, i: torch.tensor([x, x]),
        lambda m, x, i: torch.tensor([x[0], [1.0]]),
        lambda m, x, i: torch.LongTensor([x[0]]),
    ],
)
def test_what_eager_refuses_is_eagers_error(make: Callable[[Any, Tensor, Tensor], Tensor]) -> None:
    with pytest.raises((TypeError, ValueError)) as eager:
        Holder(make)(torch.ones(4), torch.tensor(1))
    with pytest.raises(eager.type) as ours:
        exported(make)
    assert str(eager.value) in str(ours.value)
