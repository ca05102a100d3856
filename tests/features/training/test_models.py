"""Twenty steps of ten models (models.py): program and eager, saved and loaded in between."""

from __future__ import annotations

import io

import pytest

import dynamo_lite

from .harness import follow, made
from .models import STEPS


@pytest.mark.parametrize("name", STEPS)
def test_twenty_steps_equal_eager(name: str) -> None:
    """From a fresh optimizer; ten steps of the program, and ten of what was saved then."""
    make, inputs = STEPS[name]
    if name in ("GPT2", "LlamaLoRA", "ViT"):
        pytest.importorskip("transformers")
    exported, eager = (made(make, inputs, 0) for _ in range(2))
    program = dynamo_lite.export(exported, inputs(0))
    follow(program.module(), eager, inputs, range(10))
    file = io.BytesIO()
    dynamo_lite.save(program, file)
    file.seek(0)
    follow(dynamo_lite.load(file).module(), eager, inputs, range(10, 20))
