"""trace.explain() fits a screen and puts the user first; what notebooks show; TORCH_TRACE."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

import dynamo_lite
from dynamo_lite.errors import InvalidArguments
from dynamo_lite.traces import Trace
from tests.report import programs
from tests.report.test_page import Page


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm, self.linear, self.scale = nn.LayerNorm(8), nn.Linear(8, 8), 0.5

    def forward(self, x: Tensor) -> Tensor:
        return x + self.linear(self.norm(x)).relu() * self.scale


def two_layers() -> Trace:
    return dynamo_lite.trace(nn.Sequential(Block(), Block()), (torch.randn(2, 8),))


def test_two_layers_fit_a_screen() -> None:
    text = two_layers().explain()
    lines = text.splitlines()
    assert len(lines) <= 40, text
    assert sum("scale == 0.5" in line for line in lines) == 1, "layers that are alike are one line"
    own, switches = text.index("scale == 0.5"), text.index("switches of torch")
    assert own < switches and "grad mode" not in text


class Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.path = f"{Path.cwd()}/weights.bin"
        self.layers = nn.ModuleList([nn.TransformerEncoderLayer(8, 2, 16, batch_first=True) for _ in range(2)])

    def forward(self, x: Tensor) -> Tensor:
        x = x * len(self.path)
        for layer in self.layers:
            x = layer(x)
        return x


def test_what_torchs_own_layers_read_is_counted() -> None:
    length = torch.export.Dim("length", min=2, max=64)
    trace = dynamo_lite.trace(Encoder().eval(), (torch.randn(2, 7, 8),), dynamic_shapes={"x": {1: length}})
    text = trace.explain()
    assert len(text.splitlines()) <= 30 and "norm_first" not in text and "_hooks" not in text, text
    assert f"L['self'].path == {trace_path(trace)!r}" in text, "a value of the program's is shown as it is"
    assert "norm_first == False" in trace.explain(unfold="library_values")


def trace_path(trace: Trace) -> str:
    return next(guard.expected for guard in trace.guards if guard.text.startswith("L['self'].path =="))


def test_places_are_named_from_the_working_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    trace = programs.branching()
    folder = Path(programs.__file__).parent
    for here, name in ((folder, "programs.py:"), (folder.parent, "report/programs.py:"), (Path("/usr"), str(folder))):
        monkeypatch.chdir(here)
        assert f"line {name}" in trace.explain()


def test_a_keyword_unfolds() -> None:
    trace = two_layers()
    switches = trace.explain(unfold=["switches"])
    assert "grad mode == True" in switches and "unfold='switches'" not in switches and "unfold='torch'" in switches
    everything = trace.explain(unfold=True)
    assert all(guard.text in everything for guard in trace.guards) and "unfold=" not in everything
    with pytest.raises(InvalidArguments, match="unfold takes"):
        trace.explain(unfold="everything")


def test_sizes_and_their_reasons() -> None:
    text = programs.attention().explain()
    assert "x.shape[0] is s0 (0 to 64): it varies" in text
    tied = next(line for line in text.splitlines() if line.strip().startswith("mask.shape[1]"))
    assert "as 2*half does" in tied and "y.transpose" in tied


def test_sizes_about_which_the_example_decides_nothing(tmp_path: Path) -> None:
    x, y = torch.ones(3, 2), torch.ones(4)
    torch._dynamo.decorators.mark_unbacked(x, 0)
    torch._dynamo.mark_dynamic(y, 0, max=9)
    trace = dynamo_lite.trace(lambda x, y: (x * 2, y + 1), (x, y))
    text = trace.explain()
    assert "x.shape[0] is u0 (0 to any): it varies, and the example decides nothing about it" in text
    assert "y.shape[0] is s0 (0 to 9): it varies" in text
    trace.report(tmp_path / "page.html")
    assert "the example decides nothing" in (tmp_path / "page.html").read_text("utf-8")


def test_what_notebooks_show() -> None:
    trace = dynamo_lite.trace(programs.Hostile(), (torch.ones(2),))
    trace.notes["<b>note</b>"] = ()  # type: ignore[index]
    for shown in (trace._repr_html_(), trace.guards._repr_html_(), trace.notes._repr_html_()):  # type: ignore[attr-defined]
        assert Page(shown).open == [] and "<b>" not in shown and "<img" not in shown
    assert "<details>" in trace._repr_html_() and "len" not in trace.notes
    assert "No notes" in trace.program.notes._repr_html_()  # type: ignore[attr-defined]


def test_reports_in_torch_trace(tmp_path: Path) -> None:
    """The payloads that tlparse shows: the report, the summary, a graph break."""
    code = (
        "import torch, dynamo_lite\n"
        "dynamo_lite.export(torch.nn.Linear(2, 2), (torch.ones(1, 2),))\n"
        "try: dynamo_lite.export(lambda x: x if x.sum() > 0 else -x, (torch.ones(2),), control_flow='refuse')\n"
        "except dynamo_lite.errors.GraphBreak: pass\n"
    )
    environment = {**os.environ, "TORCH_TRACE": str(tmp_path), "PYTHONPATH": str(Path(__file__).parents[2])}
    subprocess.run([sys.executable, "-c", code], env=environment, cwd=tmp_path, check=True, capture_output=True)
    (log,) = tmp_path.glob("*.log")
    text = log.read_text()
    names = [f"dynamo_lite_{name}" for name in ("report", "summary", "graph_break")]
    assert all(f'"artifact": {{"name": "{name}"' in text for name in names)
    start = text.index('"name": "dynamo_lite_report"')
    payload = text[text.index("\n", start) + 1 :].splitlines()[0].strip()
    assert json.loads(payload)["counts"]["operators"] == 1


def test_no_report_is_made_without_torch_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TORCH_TRACE", raising=False)
    monkeypatch.setattr("dynamo_lite.report.document.of_trace", None)
    assert two_layers().program
