"""The user's own entries of nodes, `node.meta["custom"]`: torch.fx.traceback.annotate, and programs exported again."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.fx.traceback import annotate, preserve_node_meta

import dynamo_lite


class Stages(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with annotate({"stage": 0}):
            with annotate({"bucket": 1}):
                x = x + 1
            x = x - 2
        return x / 3


def annotations(program: torch.export.ExportedProgram) -> dict[str, Any]:
    """The entries of each node, without those that torch.compiler.disable leaves in torch's own passes."""
    found = {node.name: node.meta.get("custom", {}) for node in program.graph.nodes if node.op == "call_function"}
    return {
        name: {key: value for key, value in custom.items() if not key.startswith("_torchdynamo_disable")}
        for name, custom in found.items()
    }


@pytest.mark.parametrize("strict", [True, False])
def test_annotated_blocks_are_those_of_torch_export(strict: bool) -> None:
    args = (torch.ones(2),)
    program = dynamo_lite.export(Stages(), args, strict=strict)
    expected = {"add": {"stage": 0, "bucket": 1}, "sub": {"stage": 0}, "div": {}}
    with preserve_node_meta():  # torch.export needs it
        theirs = torch.export.export(Stages(), args, strict=False)
    assert annotations(program) == annotations(theirs) == expected
    assert annotations(program.run_decompositions()) == expected
    assert "custom" not in torch.fx.traceback.get_current_meta()


def test_a_program_that_is_exported_again_keeps_the_annotations_of_its_nodes() -> None:
    args = (torch.ones(2, 2),)
    program = dynamo_lite.export(nn.Sequential(nn.Linear(2, 2), nn.ReLU()), args)
    next(node for node in program.graph.nodes if node.name == "linear").meta["custom"] = {"quantized": True}
    again = dynamo_lite.export(program.module(), args)
    assert annotations(again) == {"linear": {"quantized": True}, "relu": {}}
