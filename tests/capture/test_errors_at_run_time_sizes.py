"""Operators that fail on stand-ins with sizes that only run time knows: eager is asked at several numbers.

Oracle: eager, with any number of rows. A decomposition's own exception (AssertionError where the kernel says
RuntimeError) must not choose the program's handler, and a failure that eager does not have is no error of the program.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

import dynamo_lite
from dynamo_lite.errors import GraphBreak

ROWS = [torch.tensor(rows) for rows in ([1.0, 2, 3], [-1.0, -2, -3], [-1.0, 5, -3])]


class Tries(nn.Module):
    """forward: what `call` returns, or the position of the class that catches its error."""

    def __init__(self, call: Callable[[Tensor], Tensor], caught: tuple[type[Exception], ...]) -> None:
        super().__init__()
        self.call = call
        self.caught = caught

    def forward(self, x: Tensor) -> Tensor:
        rows = x[x > 0]
        try:
            return self.call(rows)
        except self.caught[0]:
            return x + 1
        except self.caught[1]:
            return x + 2


def eigenvalues(rows: Tensor) -> Tensor:
    return torch.linalg.eig(rows)[0]


def eigenvalues_of_a_row(rows: Tensor) -> Tensor:
    return torch.linalg.eig((rows * 2)[None, None, :, None])[0]


def inverse(rows: Tensor) -> Tensor:
    return torch.linalg.inv(rows)


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("caught", [(RuntimeError, AssertionError), (AssertionError, RuntimeError)])
@pytest.mark.parametrize("call", [eigenvalues, inverse])
def test_the_handler_is_that_of_eager(
    call: Callable[[Tensor], Tensor], caught: tuple[type[Exception], ...], strict: bool
) -> None:
    model = Tries(call, caught)
    module = dynamo_lite.export(model, (ROWS[0],), strict=strict).module()
    for rows in ROWS:
        torch.testing.assert_close(module(rows), model(rows))


def test_an_error_that_no_handler_takes_is_that_of_eager() -> None:
    model = Tries(eigenvalues, (AssertionError, ValueError))
    with pytest.raises(RuntimeError) as eager:
        model(ROWS[0])
    with pytest.raises(RuntimeError) as ours:
        dynamo_lite.export(model, (ROWS[0],))
    assert str(ours.value) == str(eager.value)


def test_a_failure_that_depends_on_the_number_takes_no_handler_unseen() -> None:
    """Square for one row only: refused, or right for each number of rows."""
    model = Tries(eigenvalues_of_a_row, (RuntimeError, AssertionError))
    try:
        module = dynamo_lite.export(model, (ROWS[2],)).module()
    except (GraphBreak, RuntimeError, AssertionError):
        return
    for rows in ROWS:
        torch.testing.assert_close(module(rows), model(rows))


class Sparse(nn.Module):
    def forward(self, bounds: Tensor, columns: Tensor, x: Tensor) -> Tensor:
        return torch.sparse_csr_tensor(bounds, columns, x[x > 0], (3, 3)) @ torch.ones(3, 2)


def test_an_operator_that_only_stand_ins_fail_in_is_refused() -> None:
    """No kernel without data: not an error of the program's, which runs in eager. torch 2.15 has one."""
    args = torch.arange(4), torch.arange(3), ROWS[0]
    expected = Sparse()(*args)
    if torch.__version__ < "2.15":
        with pytest.raises(GraphBreak, match="no-meta-kernel"):
            dynamo_lite.export(Sparse(), args)
    else:
        torch.testing.assert_close(dynamo_lite.export(Sparse(), args).module()(*args), expected)
