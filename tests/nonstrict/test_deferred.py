"""prefer_deferred_runtime_asserts_over_guards: what no range expresses is checked by each call."""

from __future__ import annotations

import io
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim

import dynamo_lite
from dynamo_lite import errors


class Fours(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        torch._check(x.shape[0] % 4 == 0)
        return x.reshape(-1, 4) * 2


class Branch(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x + 1 if x.shape[0] % 3 == 2 else x - 1


class More(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x + 1 if x.shape[0] > 5 else x - 1


SPEC = ({0: Dim("n", min=0)},)
PLACES = (0, 1, 2, 5, 7, 8, 12, 20, 31)


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("module, admitted", [(Fours(), {0, 8, 12, 20}), (Branch(), {2, 5, 8, 20})])
def test_the_condition_is_checked_in_each_call(module: Any, admitted: set[int], strict: bool) -> None:
    args = (torch.randn(8),)
    with pytest.raises(errors.ConstraintViolation):
        dynamo_lite.export(module, args, dynamic_shapes=SPEC, strict=strict)
    program = dynamo_lite.export(
        module, args, dynamic_shapes=SPEC, strict=strict, prefer_deferred_runtime_asserts_over_guards=True
    )
    file = io.BytesIO()
    torch.export.save(program, file)
    file.seek(0)
    for ours in (program, torch.export.load(file), program.run_decompositions()):
        run = ours.module()
        for n in PLACES:
            x = torch.randn(n)
            if n in admitted:
                torch.testing.assert_close(run(x), module(x), rtol=0, atol=0)
            else:
                with pytest.raises((RuntimeError, AssertionError)):
                    run(x)


def test_a_range_is_promised_all_the_same() -> None:
    options: dict[str, Any] = {"dynamic_shapes": SPEC, "prefer_deferred_runtime_asserts_over_guards": True}
    with pytest.raises(errors.ConstraintViolation, match="min=6"):
        dynamo_lite.export(More(), (torch.randn(8),), **options)
    with pytest.raises(torch._dynamo.exc.UserError, match="min=6"):  # as torch.export
        torch.export.export(More(), (torch.randn(8),), **options)
