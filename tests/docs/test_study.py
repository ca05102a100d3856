"""docs/study.md and its figures are what `python -m benchmarks.study page` writes; ablations take out what they say."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import torch

pytest.importorskip("jinja2")

import dynamo_lite
from benchmarks import ablations, model_outcomes, study
from benchmarks.figures import FIGURES, cells_of_study, decided_sizes
from benchmarks.result_tables import RESULTS
from dynamo_lite.lab import programs
from dynamo_lite.lab.judge import judge
from dynamo_lite.run import second_trace


def _texts(figure: str) -> list[str]:
    return re.findall(r"<text[^>]*>([^<]*)</text>", (FIGURES / figure).read_text("utf-8"))


def test_the_page_is_what_the_command_writes() -> None:
    assert study.PAGE.read_text("utf-8") == study.page()


def test_no_figure_stands_in_the_template() -> None:
    words = re.sub(r"\{\{.*?\}\}|\{%.*?%\}", " ", study.TEMPLATE.read_text("utf-8"), flags=re.DOTALL)
    assert not re.search(r"\d", words)


def test_the_figures_are_drawn_from_the_data() -> None:
    cells = [cell for row in cells_of_study() for cell in row]
    texts = _texts("study_classes.svg")
    assert [text for text in texts if re.fullmatch(r"\d+ of \d+", text)] == cells
    assert {*study.TRACERS} < {*texts} and study.stamp()["date"] in texts[-1]
    shares = decided_sizes((RESULTS / "shape_reasoning.md").read_text("utf-8"))
    drawn = [text for text in _texts("study_sizes.svg") if text.endswith(" %")]
    ours, theirs = zip(*reversed(shares.values()))
    assert drawn == [f"{value:g} %" for value in (*ours, *theirs)] and len(shares) > 10


def test_our_wrong_ones_are_the_known_holes() -> None:
    assert sorted(programs.known_holes()) == study.with_verdict("dynamo-lite", "wrong")
    assert len(study.rows("dynamo-lite")) == len(list(programs.chosen([])))


def test_models_are_counted_by_what_their_programs_have() -> None:
    def branches(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        z = x * 2 if x.sum() > 0 else x - 1
        return z + (y.sum() if y.shape[0] % 4 == 0 else y.mean())

    sizes = {"x": {0: torch.export.Dim.AUTO}, "y": {0: torch.export.Dim.AUTO}}
    found = dynamo_lite.trace(branches, (torch.ones(4), torch.ones(8)), dynamic_shapes=sizes)
    made = model_outcomes.ModelOutcome("branches")
    model_outcomes._read(found, made)
    assert made.captured["branch on data"] == 1 and made.operators["cond"] >= 1
    assert study._is_narrowed({"narrowed": made.narrowed}) == ("% 4" in " ".join(map(str, found.guards)))
    assert not study._is_narrowed({"narrowed": ["s0 >= 2, user line", "s1 != 0, operator"]})


@pytest.mark.parametrize(
    ("ablation", "id", "verdict"),
    [
        (ablations.WithoutSecondTrace, "state.counter", "wrong"),
        (ablations.WithDroppedEffects, "state.counter", "wrong"),
        (ablations.WithoutLayoutGuards, "aliasing.layout_decides", "wrong"),
        (ablations.WithoutCapture, "control_flow.branch", "refused"),
    ],
)
def test_an_ablation_changes_a_verdict(ablation: type[ablations.Ablation], id: str, verdict: str) -> None:
    before = second_trace._covered
    assert judge(programs.find(id), ablation()).verdict == verdict == study.rows(ablation.name)[id][0]
    assert second_trace._covered is before


def test_collecting_takes_files_of_one_state(tmp_path: Path) -> None:
    row = {"id": "state.counter", "kind": "state", "verdict": "wrong", "text": "a  text\nof /some/folder/lines"}
    for number, name in enumerate((*study.TRACERS, *study.ABLATIONS)):
        about = {
            "exporter": name,
            "commit": "c",
            "torch": "t",
            "python": "p",
            "machine": "m",
            "date": f"2026-01-0{number % 9}",
        }
        (tmp_path / f"{name}.jsonl").write_text(f"{json.dumps({'stamp': about})}\n{json.dumps(row)}\n")
    lines = [json.loads(line) for line in study.collect(tmp_path).splitlines()]
    assert lines[0]["date"] == "2026-01-00"
    assert lines[1] == {"exporter": "dynamo-lite", "rows": {"state.counter": ["wrong", "a text of lines"]}}
    (tmp_path / "torch-fx.jsonl").write_text(json.dumps({"stamp": about | {"commit": "other"}}) + "\n")
    with pytest.raises(ValueError, match="several states"):
        study.collect(tmp_path)
