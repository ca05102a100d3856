"""torch.onnx.export takes dynamic programs as they are; onnxruntime agrees with eager at other sizes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils import _pytree as pytree

from tests.dynamic.bridge_programs import CASES, run_alone

onnxruntime: Any = pytest.importorskip("onnxruntime")
pytest.importorskip("onnxscript")

QUICK = ("tutorial", "item")
PARAMETERS = [name if name in QUICK else pytest.param(name, marks=pytest.mark.long) for name in CASES]


@pytest.mark.parametrize("name", PARAMETERS)
def test_onnxruntime_agrees_with_eager(name: str, tmp_path: Path) -> None:
    case = CASES[name]()
    program = case.export()
    path = tmp_path / "model.onnx"
    exported = torch.onnx.export(program, dynamo=True, verbose=False)
    assert exported is not None
    exported.save(str(path))
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    symbolic = [size for value in session.get_inputs() for size in value.shape if isinstance(size, str)]
    assert symbolic or name == "derived", "the model is dynamic"
    for call in case.calls:
        results = session.run(None, _feed(session, call))
        expected = pytree.tree_leaves(run_alone(case.module, call))
        for got, want in zip(results, expected, strict=True):
            torch.testing.assert_close(torch.as_tensor(got), torch.as_tensor(want), check_dtype=False)


def _feed(session: Any, call: tuple[Any, ...]) -> Mapping[str, Any]:
    leaves = (leaf if isinstance(leaf, torch.Tensor) else torch.tensor(leaf) for leaf in pytree.tree_leaves(call))
    return {value.name: leaf.numpy() for value, leaf in zip(session.get_inputs(), leaves, strict=True)}
