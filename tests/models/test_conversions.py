"""`program.module().to(dtype)` of whole models: what eager does converted."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch

import dynamo_lite
from tests.models.compare import difference, run
from tests.models.registry import CORE, Model, load

MODELS = [*load(CORE).values()][::2]


def converted(inputs: Any, dtype: torch.dtype) -> Any:
    """The inputs with their floating point tensors in a dtype; caches are known to pytree after an export."""

    def convert(leaf: Any) -> Any:
        return leaf.to(dtype) if isinstance(leaf, torch.Tensor) and leaf.is_floating_point() else leaf

    return torch.utils._pytree.tree_map(convert, inputs)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_a_converted_program_is_the_converted_model(model: Model) -> None:
    case, dtype = model.case(), torch.bfloat16
    args, kwargs = case.inputs(0)
    eager = copy.deepcopy(case.module).to(dtype)
    module = dynamo_lite.export(case.module, args, kwargs).module()
    try:
        want = run(eager, converted(case.inputs(1), dtype))
    except RuntimeError as error:
        pytest.skip(f"eager does not run: {error}")
    got = run(module.to(dtype), converted(case.inputs(1), dtype))
    assert difference(got.output, want.output, max(case.tolerance, 1e-5)) is None
