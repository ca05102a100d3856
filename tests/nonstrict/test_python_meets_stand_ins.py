"""strict=False, where CPython itself meets what export put in the place of something: against eager."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

import dynamo_lite
from dynamo_lite.errors import GraphBreak


def same_as_eager(module: Any, x: Tensor) -> None:
    program = dynamo_lite.export(module, (x,), strict=False).module()
    for given in (x, x + 2):
        torch.testing.assert_close(program(given), module(given), rtol=0, atol=0)


def test_a_metaclass_of_the_program() -> None:
    def program(x: Tensor) -> Any:
        class Counting(type):
            made = 0

            def __call__(cls, *args: Any) -> Any:
                value = super().__call__(*args)
                value.number = 5
                return value

            def __getitem__(cls, index: int) -> int:
                return index * 2

        class Holder(metaclass=Counting):
            def __init__(self, x: Tensor) -> None:
                self.x = x

        held: Any = Holder(x)
        known = type(Holder) is Counting, isinstance(Holder, Counting), isinstance(int, Counting), type(x) is Tensor
        return held.x * held.number + Holder[3], known, type("Made", (Holder,), {"k": 1})(x).number

    same_as_eager(program, torch.randn(3))


def test_arrays_that_stand_for_tensors() -> None:
    def program(x: Tensor) -> Any:
        array = x.numpy() * 2
        return torch.from_numpy(array), torch.as_tensor(array + 1), array.shape

    same_as_eager(program, torch.randn(3))


@pytest.mark.parametrize("strict", [False, True])
def test_a_traced_module_beside_a_buffer_that_changes(strict: bool) -> None:
    class Module(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.jit.trace(nn.Linear(3, 3).requires_grad_(False), torch.ones(2, 3))
            self.register_buffer("count", torch.zeros(()))

        def forward(self, x: Tensor) -> Tensor:
            self.count = self.count + 1
            return self.layer(x) + self.count

    torch.manual_seed(0)
    program = dynamo_lite.export(Module(), (torch.ones(2, 3),), strict=strict).module()
    torch.manual_seed(0)
    eager = Module()
    for given in (torch.ones(2, 3), torch.randn(2, 3)):
        torch.testing.assert_close(program(given), eager(given))


def test_nested_tensors() -> None:
    def program(x: Tensor) -> Tensor:
        return torch.nested.nested_tensor([x, x[:2]], layout=torch.jagged).values()

    with pytest.raises(GraphBreak, match=r"^\[tensor-subclass\]"):
        dynamo_lite.export(program, (torch.randn(4, 3),), strict=False)
