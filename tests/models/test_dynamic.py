"""Core models with a dynamic batch, and text and audio with a dynamic length: equal to eager at other sizes.

make test      the core list
make models    the long list too (tests/models/report.py --dynamic)
"""

from __future__ import annotations

import copy

import pytest
import torch

import dynamo_lite
from dynamo_lite.errors import InputMismatch
from tests.models.compare import disagreement
from tests.models.dynamic import Axis, batch_axis, dynamic_shapes, length_axis, resized
from tests.models.registry import CORE, Case, Model, load

STATIC_LENGTH: dict[str, str] = {}
"""Models that make their length static themselves, and the line that does it."""


@pytest.mark.parametrize("model", load(CORE).values(), ids=lambda model: model.name)
def test_dynamic_batch(model: Model) -> None:
    case = model.case()
    batch = batch_axis(case)
    assert batch is not None
    size = max(batch.size, 2)
    program = _exported(case, batch, size)
    _check_sizes(program, model, batch, (size, size + 1, size + 3), may_refuse=(1,))


@pytest.mark.parametrize("model", [m for m in load(CORE).values() if length_axis(m.case())], ids=lambda m: m.name)
def test_dynamic_length(model: Model) -> None:
    case = model.case()
    batch, length = batch_axis(case), length_axis(case)
    assert batch is not None and length is not None
    args, kwargs = case.inputs(0)
    trace = dynamo_lite.trace(case.module, args, kwargs, dynamic_shapes=dynamic_shapes(case, batch, length))
    fixed = [s.origin.code for s in trace.specializations if s.value == length.size]
    assert fixed == [STATIC_LENGTH[model.name]] if model.name in STATIC_LENGTH else not fixed
    sizes = (length.size, *(() if fixed else (length.size - 1, length.size + 2)))
    _check_sizes(trace.program, model, length, sizes)


def _exported(case: Case, axis: Axis, size: int) -> torch.export.ExportedProgram:
    args, kwargs = resized(case, axis, size)(0)
    return dynamo_lite.export(case.module, args, kwargs, dynamic_shapes=dynamic_shapes(case, axis))


def _check_sizes(program: torch.export.ExportedProgram, model: Model, axis: Axis, sizes: tuple[int, ...],
                 may_refuse: tuple[int, ...] = ()) -> None:
    """Equal to eager at `sizes`; at `may_refuse` equal or refused: the model itself may tell those sizes apart."""
    case = model.case()
    module, eager = program.module(), copy.deepcopy(case.module)
    for size in (*sizes, *may_refuse):
        try:
            problem = disagreement(module, eager, resized(case, axis, size), (0,), case.tolerance)
        except (InputMismatch, ValueError):  # the program refuses; or eager itself does (statistics of one sample)
            if size not in may_refuse:
                raise
            continue
        assert problem is None, f"size {size}: {problem}"
