"""A program that asks how a tensor lies in memory is right for inputs that lie as the example; others are refused."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.export import Dim

import dynamo_lite

A = Dim.AUTO


def r(*shape: int) -> torch.Tensor:
    return torch.randn(shape)


def by_contiguity(x: Any) -> Any:
    return x * 2 if x.is_contiguous() else x + 1


def by_contiguity_of_a_result(x: Any) -> Any:
    y = x.transpose(0, 1)
    return y * 2 if y.is_contiguous() else y + 1


def by_format(x: Any) -> Any:
    return x * 2 if x.is_contiguous(memory_format=torch.channels_last) else x + 1


def by_stride(x: Any) -> Any:
    return x * x.stride(0)


Case = tuple[Callable[[Any], Any], Callable[[int], Any], Callable[[int], Any]]
CASES: dict[str, Case] = {  # program, inputs as in the example, inputs that lie otherwise
    "contiguous": (by_contiguity, lambda n: r(n, 5), lambda n: r(5, n).t()),
    "not contiguous": (by_contiguity, lambda n: r(5, n).t(), lambda n: r(n, 5)),
    "a result": (by_contiguity_of_a_result, lambda n: r(n, 5), lambda n: r(5, n).t()),
    "a format": (by_format, lambda n: r(2, 3, n, 5).to(memory_format=torch.channels_last), lambda n: r(2, 3, n, 5)),
    "a stride": (by_stride, lambda n: r(n, 5), lambda n: r(5, n).t()),
    "every second": (by_contiguity, lambda n: r(2 * n)[::2], lambda n: r(n)),
}


@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
@pytest.mark.parametrize("f, like, unlike", CASES.values(), ids=CASES)
def test_asked(f: Callable[[Any], Any], like: Any, unlike: Any, dynamic: bool) -> None:
    example = like(4)
    specs = (dict.fromkeys(range(example.dim()), A),) if dynamic else None
    program = dynamo_lite.export(f, (example,), dynamic_shapes=specs)
    file = io.BytesIO()
    torch.export.save(program, file)
    file.seek(0)
    for module in (program.module(), torch.export.load(file).module()):
        for n in (4, 6) if dynamic else (4,):
            x = like(n)
            torch.testing.assert_close(module(x), f(x))
            with pytest.raises((RuntimeError, AssertionError)):
                module(unlike(n))


def test_operators_take_any_layout() -> None:
    f = lambda x: x.reshape(-1) * 2 + x.flatten()  # noqa: E731
    program = dynamo_lite.export(f, (r(4, 5),), dynamic_shapes=({0: A, 1: A},))
    for x in (r(3, 7), r(7, 3).t(), r(6, 14)[::2, ::2]):
        torch.testing.assert_close(program.module()(x), f(x))


class Attention(torch.nn.Module):
    """Calls `contiguous` within torch.nn.functional.multi_head_attention_forward, which torch runs as it is."""

    def __init__(self, batch_first: bool) -> None:
        super().__init__()
        self.layer = torch.nn.MultiheadAttention(8, 2, batch_first=batch_first)

    def forward(self, x: Any) -> Any:
        return self.layer(x, x, x)


@pytest.mark.parametrize("batch_first", [False, True])
def test_what_torchs_own_functions_ask_of_layout_excludes_no_size(batch_first: bool) -> None:
    module = Attention(batch_first).eval()
    run = dynamo_lite.export(module, (r(4, 7, 8),), dynamic_shapes=({0: A, 1: A},)).module()
    for sizes in ((1, 7), (4, 1), (1, 1), (9, 3), (0, 7) if batch_first else (7, 0)):
        x = r(*sizes, 8)
        torch.testing.assert_close(run(x), module(x))
