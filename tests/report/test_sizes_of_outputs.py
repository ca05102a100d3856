"""What a large program shows: the sizes that docs/report.md promises."""

from __future__ import annotations

import pytest
import torch

import dynamo_lite
from dynamo_lite.report import notebook
from dynamo_lite.report.document import of_trace
from dynamo_lite.report.page import page


@pytest.fixture(scope="module")
def large() -> dynamo_lite.Trace:
    """1,600 nodes in 45 layers, with some thousand guards."""
    layer = lambda: torch.nn.TransformerEncoderLayer(8, 2, 8, batch_first=True)  # noqa: E731
    return dynamo_lite.trace(torch.nn.Sequential(*(layer() for _ in range(45))).train(), (torch.randn(2, 3, 8),))


def test_page_notebook_and_text(large: dynamo_lite.Trace) -> None:
    assert len(large.program.graph.nodes) > 1600 and len(large.guards) > 3000
    assert len(page(of_trace(large)).encode()) < 2_000_000
    assert len(large._repr_html_().encode()) < 50_000
    assert len(large.guards._repr_html_().encode()) < 50_000
    rows = str(large.guards).splitlines()
    assert len(rows) < 100 and any("(and 44 like it)" in row for row in rows)


def test_what_does_not_fit_is_counted(large: dynamo_lite.Trace) -> None:
    shown = notebook._listed(["a row"] * 2000)
    kept = shown.count("a row\n")
    assert f"… and {2000 - kept} more" in shown and len(shown) < 4000
    assert notebook._listed(["x" * 10_000]).count("x") < 1000 and notebook._listed([]) == "<pre></pre>"


def test_guards_on_other_values_are_rows_of_their_own() -> None:
    class Scaled(torch.nn.Module):
        def __init__(self, by: float) -> None:
            super().__init__()
            self.by = by

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x * self.by

    model = torch.nn.Sequential(*(Scaled(2.0 if number != 1 else 3.0) for number in range(4)))
    trace = dynamo_lite.trace(model, (torch.ones(2),))
    rows = [row.split("  # ")[0].strip() for row in str(trace.guards).splitlines() if ".by ==" in row]
    assert (
        len(rows) == 2
        and any("== 2.0 (and 2 like it)" in row for row in rows)
        and any(row.endswith("== 3.0") for row in rows)
    )
