"""The parts of a step of training, and the lines of the operators of its backward."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import dynamo_lite
from dynamo_lite.report import document
from tests.features.training.harness import Step, mlp, rows
from tests.report.test_page import Page


class Clipped(Step):
    def forward(self, x: Tensor) -> Any:
        self.optimizer.zero_grad()
        hidden = self.net[0](x)  # type: ignore[index]
        hidden = torch.tanh(hidden)  # the line of tanh
        loss = hidden.pow(2).mean()  # the line of pow
        loss.backward()
        nn.utils.clip_grad_norm_(self.net.parameters(), 0.1)
        self.optimizer.step()
        return loss.detach()


def traced(optimizer: Any = torch.optim.AdamW) -> Any:
    torch.manual_seed(0)
    return dynamo_lite.trace(Clipped(mlp(), optimizer), rows(0))


def test_each_operator_is_in_one_part() -> None:
    found = document.of_trace(traced())
    assert [part["key"] for part in found["parts"]] == ["forward", "backward", "update"]
    parts: dict[str, set[str]] = {}
    for node in found["nodes"]:
        if node["part"]:
            parts.setdefault(node["part"], set()).add(node["operator"])
        assert (node["op"] == "call_function") is bool(node["part"])
    assert {"aten.tanh.default", "aten.pow.Tensor_Scalar"} <= parts["forward"]
    assert "aten.tanh_backward.default" in parts["backward"]
    assert "aten.linalg_vector_norm.default" in parts["update"], "gradients are clipped in the update"
    assert not any("backward" in operator for operator in parts["forward"] | parts["update"])


def test_an_operator_of_the_backward_has_the_line_of_its_forward_operator() -> None:
    found = {node["operator"]: node for node in document.of_trace(traced())["nodes"]}
    assert "the line of tanh" in found["aten.tanh_backward.default"]["at"]["code"]
    trace: Any = traced()
    nodes = [node for graph in _graphs(trace.program.graph_module) for node in graph.nodes]
    stack = next(node.meta["stack_trace"] for node in nodes if "tanh_backward" in str(node.target))
    assert "loss.backward()" in stack and stack.index("loss.backward()") < stack.index("torch.tanh(hidden)")


def _graphs(module: Any) -> Any:
    return (part.graph for part in module.modules() if hasattr(part, "graph"))


@pytest.mark.parametrize("part", ["forward", "backward", "update"])
def test_the_text_counts_the_parts_and_unfolds_them(part: Any) -> None:
    trace = traced()
    text = trace.explain()
    assert f"unfold='{part}'" in text and "tanh_backward" not in text
    unfolded = trace.explain(unfold=part)
    operator = {"forward": "aten.tanh.default", "backward": "aten.tanh_backward.default", "update": "aten._foreach"}
    assert (operator[part] in unfolded) or part == "update"
    assert f"unfold='{part}'" not in unfolded
    assert "tanh_backward" in trace.explain(unfold=True)


def test_the_page_has_three_folds(tmp_path: Path) -> None:
    traced().report(tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    assert text.count('class="part"') == 3
    Page(text)


def test_the_parts_of_a_step_on_a_side_of_a_branch() -> None:
    class Guarded(Step):
        def forward(self, x: Tensor) -> Any:
            self.optimizer.zero_grad()
            loss = self.loss(x)
            if torch.isfinite(loss):
                loss.backward()
                self.optimizer.step()
            return loss.detach()

    found = document.of_trace(dynamo_lite.trace(Guarded(mlp()), rows(0)))
    operators = {node["operator"]: node["part"] for node in found["nodes"]}
    assert operators["aten.tanh_backward.default"] == "backward"


def test_a_program_without_a_backward_has_no_parts() -> None:
    trace = dynamo_lite.trace(mlp(), rows(0))
    found = document.of_trace(trace)
    assert found["parts"] == [] and not any(node["part"] for node in found["nodes"])
    assert "Step of training" not in trace.explain()
    assert 'class="part"' not in str(found)
