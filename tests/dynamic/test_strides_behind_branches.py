"""Strides that a program asks for behind a captured branch or loop: eager's at every size, or an error."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.export import Dim

import dynamo_lite
from tests.dynamic.every_size import SIZES, SPECS, Program, check, of
from tests.dynamic.stride_programs import CONTIGUOUS, OTHERWISE


@pytest.mark.parametrize("example", [10, 8])
@pytest.mark.parametrize("program", CONTIGUOUS, ids=lambda fn: fn.__name__)
def test_contiguous_sides_take_every_size(program: Program, example: int) -> None:
    """Where the example is not padded, kernels have max(1, size) in the strides of the padded tensor."""
    module = dynamo_lite.export(program, (of(example),), dynamic_shapes=({0: SPECS["named"]},)).module()
    for rows in SIZES:
        check(program, module, rows)


@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS.keys())
@pytest.mark.parametrize("program", [*CONTIGUOUS, *OTHERWISE], ids=lambda fn: fn.__name__)
def test_never_other_strides(program: Program, spec: Any) -> None:
    """An error is right where torch's operator does not keep the strides that eager has; another value is not."""
    try:
        module = dynamo_lite.export(program, (of(10),), dynamic_shapes=({0: spec},)).module()
    except dynamo_lite.errors.DynamoLiteError:
        assert program in OTHERWISE
        return
    for rows in SIZES:
        for sign in (1, -1):
            try:
                got = module(sign * of(rows))
            except dynamo_lite.errors.DynamoLiteError:
                assert rows != 10
                continue
            assert torch.equal(got, program(sign * of(rows)))


def test_sizes_left_to_the_program_and_an_example_that_needs_no_padding() -> None:
    """Kernels have max(1, size) in the strides of the side that the example does not take. Found by LED."""

    def chunks(ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        missing = (4 - ids.shape[1] % 4) % 4
        if missing > 0:
            ids = torch.nn.functional.pad(ids, (0, missing), value=1)
            mask = torch.nn.functional.pad(mask, (0, missing), value=False)
        return ids * mask + mask.stride(0)

    def args(length: int) -> tuple[torch.Tensor, torch.Tensor]:
        ids = torch.arange(2 * length).view(2, length)
        return ids, ids + 1

    sizes = ({0: Dim.AUTO, 1: Dim.AUTO},) * 2
    module = dynamo_lite.export(chunks, args(8), dynamic_shapes=sizes).module()
    for length in SIZES:
        assert torch.equal(module(*args(length)), chunks(*args(length)))
