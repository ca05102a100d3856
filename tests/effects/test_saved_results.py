"""The operators whose result the backward needs, by torch's own formulas (`tracing/effects/kept_operands.py`)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torchgen

from dynamo_lite.tracing.effects.kept_operands import _SAVE_RESULT

FORMULAS = Path(torchgen.__file__).parent / "packaged" / "autograd" / "derivatives.yaml"
BACKENDS = re.compile("cudnn|miopen|mkldnn|mps|sparse|_test")
"""Operators that no program for the CPU or CUDA records."""


def _named_in_formula(entry: str) -> bool:
    """Whether a derivative of an argument has the name of a result: `result`, `result0`, or that in the schema."""
    signature, *lines = entry.split("\n")
    named = re.findall(r"Tensor(?:\([^)]*\))? (\w+)", signature.split("->")[-1])
    any_result = re.compile(rf"\b({'|'.join([*named, 'result', 'result[0-9]'])})\b")
    rows = [line.strip().partition(":") for line in lines if not line.strip().startswith("#")]
    formulas = [formula for argument, _, formula in rows if argument not in ("result", "output_differentiability")]
    return any(any_result.search(formula) for formula in formulas)


def test_the_table_of_results_is_torchs() -> None:
    if not FORMULAS.exists():
        pytest.skip("this torch comes without its formulas")
    entries = ("\n" + FORMULAS.read_text()).split("\n- name: ")[1:]
    found = {re.split(r"[.(]", entry.strip())[0] for entry in entries if _named_in_formula(entry)}
    names = {name.removeprefix("_foreach_").rstrip("_") for name in found if not BACKENDS.search(name)}
    assert len(names) > 90
    assert names <= _SAVE_RESULT
