"""A buffer's number in Python code, and in slices: the number of the call, not of the example."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import dynamo_lite

from .unbacked_programs import asserts_a_buffer


def zeroed(x: Tensor, first: Any, last: Any) -> Tensor:
    x = x.clone()
    x[first:last] = 0
    return x


PROGRAMS: dict[str, Callable[[Any, Tensor, Tensor], Any]] = {
    "slice_by_a_buffer": lambda m, x, i: x[: m.n],
    "slice_by_two_values": lambda m, x, i: (x[i[0] : i[1]], x[None, i[0] :], x[-i[1] :]),
    "slice_assigned": lambda m, x, i: zeroed(x, i[0], m.n + 1),
    "slice_by_one_element": lambda m, x, i: x[i[:1] :],
    "int": lambda m, x, i: (x + int(m.n), int(m.scale)),
    "float": lambda m, x, i: x * float(m.scale),
    "index": lambda m, x, i: x + operator.index(m.n),
    "tolist": lambda m, x, i: (x * m.pair.tolist()[1], sum(m.pair.tolist())),
    "narrowed": lambda m, x, i: (x.narrow(0, m.n, 1), torch.narrow(x, 0, i[0], 2)),
    "combined": lambda m, x, i: torch.combinations(x + m.n, 2),
    "rounded": lambda m, x, i: (math.floor(m.scale), math.ceil(m.scale)),
}


class Buffers(nn.Module):
    def __init__(self, program: Callable[[Any, Tensor, Tensor], Any]) -> None:
        super().__init__()
        self.program = program
        self.register_buffer("n", torch.tensor(2))
        self.register_buffer("scale", torch.tensor(1.5))
        self.register_buffer("pair", torch.tensor([1, 2]))

    def forward(self, x: Tensor, i: Tensor) -> Any:
        return self.program(self, x, i)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_number_is_that_of_the_call(name: str) -> None:
    module = Buffers(PROGRAMS[name])
    run = dynamo_lite.export(module, (torch.ones(6), torch.tensor([1, 3]))).module()
    for n, scale, first in ((3, -2.5, 2), (0, 0.25, 0), (5, 7.0, 4)):
        state = {"n": torch.tensor(n), "scale": torch.tensor(scale), "pair": torch.tensor([n, n + 1])}
        module.load_state_dict(state)
        run.load_state_dict(state)
        inputs = torch.arange(6.0), torch.tensor([first, first + 2])
        torch.testing.assert_close(run(*inputs), module(*inputs))


def test_the_text_of_a_buffer_is_refused() -> None:
    with pytest.raises(dynamo_lite.errors.GraphBreak) as caught:
        dynamo_lite.export(Buffers(lambda m, x, i: (x, f"{m.n}")), (torch.ones(6), torch.tensor([1, 3])))
    assert caught.value.id == "tensor-repr"


def test_an_assert_about_a_buffer_is_asserted() -> None:
    run = dynamo_lite.export(Buffers(asserts_a_buffer), (torch.ones(6), torch.tensor([1, 3]))).module()
    run.load_state_dict({**run.state_dict(), "n": torch.tensor(5)})
    assert torch.equal(run(torch.ones(6), torch.tensor([1, 3])), 5 * torch.ones(6))
    run.load_state_dict({**run.state_dict(), "n": torch.tensor(0)})
    with pytest.raises(RuntimeError, match="n must not be zero"):
        run(torch.ones(6), torch.tensor([1, 3]))
