"""The document against the trace that it was made of, and its answers to a reader's three questions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

import dynamo_lite
from dynamo_lite.errors import InvalidArguments
from dynamo_lite.report import document
from dynamo_lite.report.groups import GROUPS
from tests.report import programs


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    return document.of_trace(programs.attention())


def node(found: dict[str, Any], operator: str) -> dict[str, Any]:
    return next(row for row in found["nodes"] if row["operator"] == operator)


def line_of(text: str) -> int:
    lines = Path(programs.__file__).read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


def test_every_node_and_every_guard_of_the_trace() -> None:
    trace = programs.attention()
    found = document.of_trace(trace)
    assert [row["name"] for row in found["nodes"]] == [n.name for n in trace.program.graph.nodes]
    assert [row["text"] for row in found["guards"]] == [guard.text for guard in trace.guards]
    for row, n in zip(found["nodes"], trace.program.graph.nodes):
        assert {found["nodes"][int(u[1:])]["name"] for u in row["users"]} == {user.name for user in n.users}
        if isinstance(n.meta.get("val"), torch.Tensor):
            assert row["value"]["shape"] == [str(size) for size in n.meta["val"].shape]


def test_a_node_knows_its_line_and_module(found: dict[str, Any]) -> None:
    linear = node(found, "aten.linear.default")
    assert linear["at"]["line"] == line_of("self.project(x).view") and linear["module"] == "project"
    assert linear["at"]["rank"] == "yours" and "Linear" in linear["module_type"]


def test_a_line_is_linked_to_what_it_made(found: dict[str, Any]) -> None:
    file = next(file for file in found["files"] if file["rank"] == "yours")
    lines = {line["number"]: line for segment in file["segments"] for line in segment["lines"]}
    made = lines[line_of("self.project(x).view")]
    assert {found["nodes"][int(i[1:])]["operator"] for i in made["nodes"]} >= {
        "aten.linear.default",
        "aten.view.default",
    }
    assert lines[line_of("self.steps += 1")]["effects"] == ["e0"]
    assert "branches" not in lines[line_of("if length > 4")]  # the specification decides it
    assert [file["rank"] for file in found["files"]] == sorted(
        (file["rank"] for file in found["files"]), key=["yours", "library", "torch"].index
    )


def test_branches_that_the_program_took() -> None:
    found = document.of_trace(programs.branching())
    (row,) = found["branches"]
    assert row["text"] == "x.shape[0] >= 4" and row["origin"]["at"]["line"] == line_of("if x.shape[0] > 3")
    lines = [line for s in found["files"][0]["segments"] for line in s["lines"] if "branches" in line]
    assert [line["branches"] for line in lines] == [["b0"]]


def test_control_flow_in_the_program() -> None:
    found = document.of_trace(programs.captured())
    (row,) = found["branches"]
    assert found["nodes"][int(row["node"][1:])]["operator"].startswith("cond")
    inner = [node for node in found["nodes"] if node["graph"]]
    assert inner and all(node["at"] for node in inner if node["op"] == "call_function")


def test_the_sides_of_branches_and_the_iterations_of_loops() -> None:
    """Each with its operators, and the note of the very line that it was written at."""
    found = document.of_trace(programs.flowing())
    nodes = {row["id"]: row for row in found["nodes"]}
    notes = {row["id"]: row for row in found["notes"]}
    seen = {}
    for row in found["branches"]:
        parts = {part["name"]: {nodes[i]["operator"] for i in part["nodes"]} for part in row["parts"]}
        seen[row["origin"]["at"]["code"]] = row["text"], parts
        assert any(f"line {row['origin']['at']['line']} `" in notes[i]["text"] for i in row["notes"])
    text, parts = seen["if x.sum() > 0:"]
    assert text.startswith("both sides") and "aten.sin.default" in parts["where it holds"]
    assert "aten.cos.default" in parts["where it does not hold"]
    text, parts = seen["while x.sum() < 10:"]
    assert text.startswith("the loop") and "aten.exp.default" in parts["an iteration"] and "the condition" in parts
    text, parts = seen["for row in x:"]
    assert text.startswith("the loop") and "aten.tanh.default" in parts["an iteration"]
    assert len(seen) == 3 == len(found["branches"])


def test_why_is_this_size_8(found: dict[str, Any]) -> None:
    """The 8 of (batch, length, heads, 8): given to view on the line that read self.heads and made 32 // 4."""
    view = node(found, "aten.view.default")
    heads, eight = view["sizes"][2], view["sizes"][3]
    assert (heads["size"], eight["size"]) == ("4", "8") and heads["written"] and eight["written"]
    assert [found["guards"][int(i[1:])]["text"] for i in heads["values"]] == ["L['self'].heads == 4"]
    width = node(found, "aten.linear.default")["sizes"][2]
    weight = found["nodes"][int(width["from"]["node"][1:])]
    assert weight["input_kind"] == "parameter project.weight" and width["from"]["dim"] == 0


def _many_numbers(x: torch.Tensor, y: torch.Tensor) -> Any:
    """x: [4, 2], y: [6]. Numbers that are sizes of the result, and others that are equal to a size by chance."""
    pooled = torch.nn.functional.max_pool1d(x[None], 2, 2)
    parts = x / 4, x.transpose(0, 1), x.softmax(1), pooled, y.sum(0, keepdim=True)
    sizes = x[:, :1], y.narrow(0, 1, 3), y.view(3, 2), y[:1].expand(7), x.new_zeros(9), torch.arange(5), y.topk(5)[0]
    return parts, sizes, x.max(1)[0], y.unflatten(0, (2, 3))


def test_numbers_that_are_not_sizes_are_not_the_reason() -> None:
    found = document.of_trace(dynamo_lite.trace(_many_numbers, (torch.ones(4, 2), torch.arange(6.0))))
    rows = [row for row in found["nodes"] if row["op"] == "call_function" and row["sizes"]]
    written = {row["name"]: [(size["size"], size["written"]) for size in row["sizes"]] for row in rows}
    no = {"div", "transpose", "softmax", "max_pool1d", "sum_1"}
    yes = {"narrow", "view", "expand", "new_zeros", "arange"}
    assert no | yes | {"unflatten"} <= set(written)
    assert not [name for name in no if any(given for _, given in written[name])]
    assert not [name for name in {*yes, "unflatten"} if not all(given for _, given in written[name])]
    columns = next(sizes for sizes in written.values() if [size for size, _ in sizes] == ["4", "1"])
    assert columns == [("4", False), ("1", True)]
    parts = [row for row in rows if row["operator"] == "getitem"]
    assert [size["written"] for row in parts for size in row["sizes"] if size["size"] == "5"] == [True, True]
    largest = next(size for row in parts for size in row["sizes"] if size["size"] == "4")
    assert found["nodes"][int(largest["from"]["node"][1:])]["name"] == "x"


def test_a_constant_size_of_an_input_says_why() -> None:
    rows = {row["label"]: row for row in document.of_trace(programs.fixed())["inputs"]}
    assert rows["y.shape[1]"]["why"].startswith("dynamic_shapes does not let it vary")
    assert rows["x.shape[0]"]["constant"] and rows["x.shape[0]"]["why"] == "the program needs this very number"
    lines = [fact["origin"]["text"] for fact in rows["x.shape[0]"]["facts"]]
    assert lines and all("programs.py" in text for text in lines)


def test_what_made_this_guard(found: dict[str, Any]) -> None:
    sizes = [guard for guard in found["guards"] if guard["group"] == "sizes" and guard["proof"]]
    assert sizes and all(guard["proof"]["checked"] for guard in sizes)
    facts = [fact for guard in sizes for fact in guard["proof"]["facts"]]
    assert any(fact["origin"]["at"]["line"] == line_of("return y.transpose") for fact in facts if fact["origin"]["at"])
    read = next(guard for guard in found["guards"] if guard["text"] == "L['self'].heads == 4")
    assert read["at"]["line"] == line_of("self.heads, width") and read["group"] == "values"
    scale = next(guard for guard in found["guards"] if "SETTINGS" in guard["text"] and guard["kind"] == "equals")
    assert scale["at"]["line"] == line_of('SETTINGS["scale"]')


def test_a_proof_is_replayed_step_by_step() -> None:
    def forward(x: torch.Tensor) -> torch.Tensor:
        return x.reshape(x.shape[0], -1)

    shapes = {"x": {0: torch.export.Dim("batch", max=64)}}
    trace = dynamo_lite.trace(forward, (torch.ones(2, 3, 4),), dynamic_shapes=shapes)
    steps = [
        step
        for guard in document.of_trace(trace)["guards"]
        if guard["proof"]
        for step in guard["proof"]["steps"]
        if step["proof"]
    ]
    assert steps, "the lower end is derived"
    for step in steps:
        assert step["proof"][-1]["shows"] == step["shows"]
        for number, inner in enumerate(step["proof"], 1):
            assert inner["number"] == number and all(premise < number for premise in inner["from"])


def test_what_did_i_lose(found: dict[str, Any]) -> None:
    (effect,) = found["effects"]
    assert effect["verdict"] == "carried" and effect["target"] == "self.steps"

    class Counts(torch.nn.Module):
        calls = 0

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.calls += 1
            return x + 1

    dropped = document.of_trace(dynamo_lite.trace(Counts(), (torch.ones(2),), effects="drop"))
    assert [effect["verdict"] for effect in dropped["effects"]] == ["dropped"] and dropped["effects"][0]["at"]
    assert dropped["notes"]


def test_sizes_that_are_tied_name_the_line_or_the_spec(found: dict[str, Any]) -> None:
    between = {frozenset(tie["between"]): tie for tie in found["ties"]}
    assert "Dim('batch'" in between[frozenset({"x.shape[0]", "mask.shape[0]"})]["by"]
    lengths = next(tie for ends, tie in between.items() if "mask.shape[1]" in ends)
    assert any(fact["origin"]["at"]["line"] == line_of("return y.transpose") for fact in lengths["facts"])


def test_the_users_conditions_come_first(found: dict[str, Any]) -> None:
    keys = [group.key for group in GROUPS]
    assert (
        keys.index("sizes") < keys.index("values") < keys.index("form") < keys.index("torch") < keys.index("switches")
    )
    values = [guard["text"] for guard in found["guards"] if guard["group"] == "values"]
    assert "L['self'].heads == 4" in values and not any("torch" in text for text in values)


def test_graph_breaks_in_place_with_fix_and_case() -> None:
    found = document.of_explanation(dynamo_lite.explain(programs.Refused(), (torch.ones(3),), control_flow="refuse"))
    first = found["problems"][0]
    assert first["error"] == "data-dependent-branch" and first["at"]["code"] == "if x.sum() > 0:"
    assert "torch.where" in first["instead"] and len(found["problems"]) >= 2
    assert found["cases"][first["case"]]["title"] and "class" in found["cases"][first["case"]]["code"]
    lines = [line for file in found["files"] for s in file["segments"] for line in s["lines"] if "problems" in line]
    assert next(line["text"].strip() for line in lines) == "if x.sum() > 0:"


def test_json_is_the_document(tmp_path: Path, found: dict[str, Any]) -> None:
    document.write(found, tmp_path / "out.json")
    assert json.loads((tmp_path / "out.json").read_text()) == found
    with pytest.raises(InvalidArguments, match=r"\.html or \.json"):
        programs.attention().report(tmp_path / "out.txt")


def test_stacks_are_places(found: dict[str, Any]) -> None:
    linear = node(found, "aten.linear.default")
    frames = [found["places"][number] for number in linear["stack"]]
    own = [frame for frame in frames if frame["rank"] == "yours"]
    assert own[-1]["function"] == "forward" and own[-1]["line"] == linear["at"]["line"]
