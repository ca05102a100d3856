"""What is told of captured branches: notes with lines, the log, the cost."""

from __future__ import annotations

import logging

import pytest
import torch
from torch import nn

import dynamo_lite
from dynamo_lite.errors import GraphBreak, InvalidArguments
from dynamo_lite.interpreter.observer import Observer
from tests.control_flow.programs import PROGRAMS
from tests.control_flow.programs.table import POS


class Branches(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.sum() > 0:
            x = x.sin()
        while x.sum() < 10:
            x = x + 1
        return x


def test_each_branch_has_a_note_with_its_line() -> None:
    notes = dynamo_lite.trace(Branches(), (POS,), control_flow="capture").notes
    first = Branches.forward.__code__.co_firstlineno
    texts = [text for text in notes if "on data" in text]
    assert f"line {first + 1} `if x.sum() > 0:` is" in texts[0] and f"line {first + 3} `while " in texts[1]
    assert "torch.cond with 1 result (x: tensor)" in texts[0]
    assert "while_loop with 2 carried values (x: tensor)" in texts[1]


class Found(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor | None:
        return x.sin() if x.sum() > 0 else None


class Finds(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.found = Found()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.found(x)
        z = x.cos() if y is None else y.exp()
        return z + 1


def test_a_join_in_the_caller() -> None:
    trace = dynamo_lite.trace(Finds(), (POS,), control_flow="capture")
    (text,) = (text for text in trace.notes if "on data" in text)
    found, finds = (cls.forward.__code__.co_firstlineno for cls in (Found, Finds))
    assert f"at line {found + 1} `return x.sin() if" in text
    assert f"up to line {finds + 3} of the caller, forward(): torch.cond with 1 result (" in text


def test_operators_behind_the_call_are_the_callers() -> None:
    ep = dynamo_lite.export(Finds(), (POS,), control_flow="capture")
    sides = [module.graph for name, module in ep.graph_module.named_modules() if name.startswith(("true", "false"))]
    modules = {
        str(node.target): [path for path, _ in node.meta["nn_module_stack"].values()]
        for graph in (ep.graph, *sides)
        for node in graph.nodes
        if node.op == "call_function" and "aten" in str(node.target)
    }
    assert modules["aten.sin.default"] == ["", "found"] == modules["aten.sum.default"]
    assert modules["aten.exp.default"] == modules["aten.cos.default"] == modules["aten.add.Tensor"] == [""]


def test_the_log(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[str] = []
    monkeypatch.setattr("dynamo_lite.logging.reports.anything_on", lambda: True)
    monkeypatch.setattr("dynamo_lite.logging.reports.is_on", lambda name: name == "control_flow")
    monkeypatch.setattr("dynamo_lite.logging.reports.log", lambda name, text: found.append(f"{name}: {text}"))
    with caplog.at_level(logging.ERROR):
        dynamo_lite.export(Branches(), (POS,), control_flow="capture")
    assert len(found) == 2 and all(row.startswith("control_flow: the ") for row in found)


def test_the_option_is_checked() -> None:
    with pytest.raises(InvalidArguments, match="control_flow must be"):
        dynamo_lite.export(Branches(), (POS,), control_flow="both")


def test_only_strict_captures() -> None:
    with pytest.raises(GraphBreak, match="strict=True, which captures") as caught:
        dynamo_lite.export(Branches(), (POS,), control_flow="capture", strict=False)
    assert caught.value.id == "data-dependent-branch"


def test_nothing_asks_where_nothing_is_captured() -> None:
    from dynamo_lite.tracing.tracer import Tracer

    for name in ("on_branch", "on_for", "on_not", "on_unbound"):
        assert getattr(Tracer, name) is getattr(Observer, name)


class InARow(nn.Module):
    def __init__(self, count: int) -> None:
        super().__init__()
        self.count = count

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for i in range(self.count):
            if x.sum() > i:
                x = x - 0.5
            else:
                x = x * 1.5
        return x


@pytest.mark.parametrize("count", [5, 20])
def test_branches_in_a_row_run_each_side_once(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    from dynamo_lite.control_flow.branches import branch

    runs: list[bool] = []
    run_side = branch.run_side
    monkeypatch.setattr(branch, "run_side", lambda *args, **options: (runs.append(True), run_side(*args, **options))[1])
    ep = dynamo_lite.export(InARow(count), (POS,), control_flow="capture")
    tried = 2 if count >= 10 else 0  # a round of a loop with enough rounds, which turns out to have too few branches
    assert len(runs) == 2 * count + tried
    assert torch.allclose(ep.module()(-POS), InARow(count)(-POS))


class ByHand(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.cos(), (x,)) + 1


class Swapped(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if not x.sum() > 0:
            y = x.cos()
        else:
            y = x.sin()
        return y + 1


def test_equals_the_program_with_torch_cond_by_hand() -> None:
    program = PROGRAMS["if_else"]
    ours = dynamo_lite.export(program.make(), (POS,), control_flow="capture")
    others = [dynamo_lite.export(ByHand(), (POS,)), dynamo_lite.export(Swapped(), (POS,), control_flow="capture")]
    for ep in others:
        assert all(torch.equal(ours.module()(*call), ep.module()(*call)) for call in program.inputs)
        names = [[str(node.target) for node in p.graph.nodes if node.op == "call_function"] for p in (ours, ep)]
        assert "cond" in names[1] and len(names[0]) <= len(names[1]) + 1


class Marked(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if dynamo_lite.branch(x.sum() > 0):
            x = x.sin()
        while not dynamo_lite.branch(x.sum() > 10):
            x = x + 1
        return x


def test_branch_gives_back_what_it_is_given() -> None:
    ep = dynamo_lite.export(Marked(), (POS,))
    for sign in (1, -1):
        assert torch.allclose(ep.module()(sign * POS), Marked()(sign * POS))
    assert dynamo_lite.branch(POS) is POS


def test_branch_captures_nothing_where_branches_are_refused() -> None:
    with pytest.raises(GraphBreak) as caught:
        dynamo_lite.export(Marked(), (POS,), control_flow="refuse")
    assert caught.value.id == "data-dependent-branch" and "x.sum() > 0" in str(caught.value)


class OnOneSide(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.sum() > 0:
            y = "left"
        else:
            y = x.cos()
        z = x + 1 if x.max() > 3 else x
        return z, y


def test_a_refusal_names_the_values_and_the_lines() -> None:
    with pytest.raises(GraphBreak) as caught:
        dynamo_lite.export(OnOneSide(), (POS,), control_flow="capture")
    text, first = str(caught.value), OnOneSide.forward.__code__.co_firstlineno
    assert "'left' on one side, a tensor float32[3, 2] on the other" in text
    assert f"line {first + 1}: one side goes on at line {first + 2}, the other at line {first + 4}" in text


class Returned(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))

    def forward(self, x: torch.Tensor, kind: str) -> tuple[torch.Tensor, torch.Tensor]:
        with torch.no_grad():
            made, other = x * 2, x * 3
            taken = {"input": x.view(-1), "parameter": self.weight, "result": made, "fresh": x + 1}[kind]
            return made, taken if x.sum() > 0 else other


@pytest.mark.parametrize(("kind", "noted"), [
    ("input", "output 1 may be an input"),
    ("parameter", "output 1 may be an input, a parameter"),
    ("result", "output 1 and output 0 may be one tensor"),
    ("fresh", None),
])  # fmt: skip
def test_results_that_may_be_others_are_noted(kind: str, noted: str | None) -> None:
    trace = dynamo_lite.trace(Returned(), (torch.ones(3), kind), control_flow="capture")
    texts = [str(note) for note in trace.notes if str(note).startswith("output")]
    assert [text[: len(noted or "")] for text in texts] == ([noted] if noted else [])
    x = torch.ones(3)
    _, eager = Returned()(x, kind)
    _, result = trace.program.module()(x, kind)
    assert torch.equal(eager, result) and result.untyped_storage()._cdata != x.untyped_storage()._cdata


class _Counted(nn.Module):
    def forward(self, x):
        outs = [x]
        while x.norm() > 1:
            x = x * 0.5
            outs.append(x)
        return torch.stack(outs)


def test_a_loop_that_is_run_twice() -> None:
    notes = dynamo_lite.trace(_Counted(), (torch.ones(3),), control_flow="capture").notes
    assert any("is run once before, for the number of its iterations" in note for note in notes)


class LeftAtOnce(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x * 1
        for row in (x, x * 2):
            if row.sum() > 0:
                y.mul_(2)
            break
        return y


def test_instructions_without_a_line_have_that_of_the_one_before() -> None:
    notes = dynamo_lite.trace(LeftAtOnce(), (POS,), control_flow="capture").notes
    assert [note for note in notes if "is captured, up to line" in note] and "None" not in "".join(notes)
