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
}
FUNCTIONS: dict[str, Callable[[Tensor, int], Tensor]] = {
    "sine": lambda x, n: x * math.sin(n) + math.cos(math.pi / n),
    "logarithm": lambda x, n: x * math.log2(n) + math.atan(n),
    "to a base": lambda x, n: x * (math.log(n) / math.log(512)) - math.log(n, 3),
    "exponential": lambda x, n: x * math.exp(-n),
    "entropy": lambda x, n: x.softmax(0) / math.log(n + 1),
    "on one side": lambda x, n: x * (math.log(n, 4) if n > 4 else 1.0),
    "to a power of two": lambda x, n: F.pad(x, (0, 2 ** math.ceil(math.log2(n)) - n)),
    "levels": lambda x, n: x / (int(math.log2(n)) + 1),
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


@pytest.mark.parametrize("spec", [Dim.AUTO, Dim("n", min=1)], ids=["auto", "named"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_floats_are_expressions(name: str, spec: object) -> None:
    """With values that are eager's to the last bit but one (the C library's and ATen's kernels differ in it)."""

    def forward(x: Tensor) -> Tensor:
        return FUNCTIONS[name](x, x.shape[0])

    program = dynamo_lite.export(forward, (torch.ones(6),), dynamic_shapes=({0: spec},))
    assert not program.specializations
    run = program.module()
    for n in (1, 2, 3, 4, 5, 8, 9, 64, 65, 100):
        x = torch.randn(n, dtype=torch.float64)
        torch.testing.assert_close(run(x.float()), forward(x.float()))
    if name != "to a power of two":  # torch's passes know no size that comes from a logarithm
        file = io.BytesIO()
        torch.export.save(program, file)
        file.seek(0)
        for other in (program.run_decompositions(), torch.export.load(file)):
            x = torch.randn(9)
            torch.testing.assert_close(other.module()(x), forward(x))


def test_a_logarithm_of_nothing_is_eagers_error() -> None:
    def forward(x: Tensor) -> Tensor:
        return x * math.log(x.shape[0])

    program = dynamo_lite.export(forward, (torch.ones(6),), dynamic_shapes=({0: Dim.AUTO},)).module()
    for run in (forward, program):
        with pytest.raises((ValueError, RuntimeError)):
            run(torch.ones(0))


@pytest.mark.parametrize("name", ["sine", "logarithm", "exponential"])
def test_functions_of_numbers_of_the_run(name: str) -> None:
    def forward(x: Tensor, k: Tensor) -> Tensor:
        return FUNCTIONS[name](x, k.item())  # type: ignore[arg-type]

    if name == "exponential":  # it raises for great numbers, which are not known
        with pytest.raises(dynamo_lite.errors.DataDependent):
            dynamo_lite.export(forward, (torch.ones(6), torch.tensor(2)))
        return
    run = dynamo_lite.export(forward, (torch.ones(6), torch.tensor(2))).module()
    for k in (1, 2, 7):
        torch.testing.assert_close(run(torch.ones(6), torch.tensor(k)), forward(torch.ones(6), torch.tensor(k)))
    if name == "logarithm":
        with pytest.raises((ValueError, RuntimeError)):
            run(torch.ones(6), torch.tensor(0))


@pytest.mark.parametrize("name", ["interpolate", "std"])
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
