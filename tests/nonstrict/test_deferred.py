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
    if strict and type(module) is Branch:  # both sides are captured
        program = dynamo_lite.export(module, args, dynamic_shapes=SPEC).module()
        for n in PLACES:
            torch.testing.assert_close(program(torch.ones(n)), module(torch.ones(n)), rtol=0, atol=0)
        return
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
        dynamo_lite.export(More(), (torch.randn(8),), control_flow="refuse", **options)
    with pytest.raises(torch._dynamo.exc.UserError, match="min=6"):  # as torch.export
        torch.export.export(More(), (torch.randn(8),), **options)


class Squares(nn.Module):
    """What follows for one size alone (3 * m == n * n, and n >= 4: so m >= 6) is part of the relation."""

    def forward(self, x: Tensor, y: Tensor) -> Any:
        if x.shape[0] == y.shape[0]:
            return x + y, y
        if x.shape[0] ** 2 == y.shape[0] * 3:
            return x * 2, y * 3
        return x, y


@pytest.mark.parametrize("strict", [True, False])
def test_what_follows_from_a_relation_is_deferred_with_it(strict: bool) -> None:
    module = Squares()
    options: dict[str, Any] = {
        "dynamic_shapes": {"x": {0: Dim("n", min=4)}, "y": {0: Dim("m", min=4)}},
        "prefer_deferred_runtime_asserts_over_guards": True,
    }
    options["control_flow"] = "refuse"
    run = dynamo_lite.export(module, (torch.randn(6), torch.randn(12)), strict=strict, **options).module()
    x, y = torch.randn(9), torch.randn(27)
    torch.testing.assert_close(run(x, y), module(x, y))
    for n, m in ((4, 4), (10, 9), (9, 26)):
        with pytest.raises((RuntimeError, AssertionError)):
            run(torch.randn(n), torch.randn(m))
