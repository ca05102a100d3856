"""Guards on which inputs are one tensor: in the program, after decomposition, and after it was saved and loaded."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest
import torch

import dynamo_lite


def _of_list(xs: list[torch.Tensor]) -> torch.Tensor:
    return xs[0] * 2 if xs[0] is xs[1] else xs[0] + xs[1]


def _saved_and_loaded(program: Any) -> Any:
    buffer = io.BytesIO()
    torch.export.save(program, buffer)
    buffer.seek(0)
    return torch.export.load(buffer)


LATER: dict[str, Callable[[Any], Any]] = {
    "as_exported": lambda program: program,
    "decomposed": lambda program: program.run_decompositions(),
    "loaded": _saved_and_loaded,
}


@pytest.mark.parametrize("later", LATER)
@pytest.mark.parametrize("one", [True, False])
def test_tensors_in_a_list(one: bool, later: str) -> None:
    x, y = torch.randn(3), torch.randn(3)
    calls = {True: [x, x], False: [x, y]}
    run = LATER[later](dynamo_lite.export(_of_list, (calls[one],))).module()
    torch.testing.assert_close(run(calls[one]), _of_list(calls[one]))
    with pytest.raises((AssertionError, RuntimeError), match=r"xs\[0\] is (not )?xs\[1\]"):
        run(calls[not one])
