"""Where torch has no place for a symbol the number is taken: a fact of the program, or a refusal by name."""

from __future__ import annotations

import io
import math
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.export import Dim

import dynamo_lite

PROGRAMS: dict[str, Callable[[Tensor, int], Tensor]] = {
    "interpolate": lambda x, n: F.interpolate(x[None, None], scale_factor=n),
    "std": lambda x, n: x.std(correction=n),
    "sine": lambda x, n: x * math.sin(n),
    "logarithm": lambda x, n: x * math.log2(n) + math.atan(n),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_number_of_a_size_is_taken(name: str) -> None:
    def forward(x: Tensor) -> Tensor:
        return PROGRAMS[name](x, x.shape[0])

    program = dynamo_lite.export(forward, (torch.ones(6),), dynamic_shapes=({0: Dim.AUTO},))
    assert program.specializations
    x = torch.arange(6.0)
    torch.testing.assert_close(program.module()(x), forward(x))
    with pytest.raises(RuntimeError):
        program.module()(torch.ones(7))


@pytest.mark.parametrize("name", ["interpolate", "std", "sine"])
def test_a_number_that_only_run_time_knows_is_refused(name: str) -> None:
    def forward(x: Tensor, k: Tensor) -> Tensor:
        return PROGRAMS[name](x, k.item())  # type: ignore[arg-type]

    with pytest.raises(dynamo_lite.errors.DataDependent) as caught:
        dynamo_lite.export(forward, (torch.ones(6), torch.tensor(2)))
    assert caught.value.id == "data-dependent-value"


def test_what_eager_refuses_stays_eagers_error() -> None:
    def forward(x: Tensor) -> Tensor:
        try:
            return x.transpose("a", x.shape[0])  # type: ignore[call-overload, no-any-return]
        except TypeError:
            return x * 2

    run = dynamo_lite.export(forward, (torch.ones(6),), dynamic_shapes=({0: Dim.AUTO},)).module()
    assert torch.equal(run(torch.ones(6)), torch.full((6,), 2.0))


QUOTIENTS: dict[str, Callable[[int], object]] = {
    "ceil": lambda n: (math.ceil(n / 3), math.ceil((n + 1) / 2) - 1),
    "floor": lambda n: (math.floor(n / 3), math.floor(n * 0.25)),
    "round": lambda n: (round(n / 2), round((n - 15) / 2.0), round(n / 3)),
}


@pytest.mark.parametrize("name", QUOTIENTS)
def test_rounded_quotients_of_sizes_can_be_saved(name: str) -> None:
    """torch's serializer knows neither math.ceil nor math.floor nor round."""

    def forward(x: Tensor) -> object:
        return x + 1, QUOTIENTS[name](x.shape[0]), x[: math.ceil(x.shape[0] / 2)]

    program = dynamo_lite.export(forward, (torch.ones(6),), dynamic_shapes=({0: Dim.AUTO},))
    file = io.BytesIO()
    torch.export.save(program, file)
    file.seek(0)
    loaded, run = torch.export.load(file).module(), program.module()
    for size in range(32):
        want = forward(torch.ones(size))
        torch.testing.assert_close(run(torch.ones(size)), want)
        torch.testing.assert_close(loaded(torch.ones(size)), want)
