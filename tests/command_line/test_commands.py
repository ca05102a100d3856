"""export, explain, check: their words, their JSON, their exit codes; what they saved against eager."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from typer.testing import CliRunner

import dynamo_lite
from dynamo_lite.command_line.app import app

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
FILE = str(HERE / "programs.py")
X = "torch.randn(2, 4)"


def run(*words: str, code: int = 0) -> Any:
    result = CliRunner().invoke(app, [*words])
    assert result.exit_code == code, (result.output, result.exception)
    return result


def record(*words: str, code: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run(*words, "--json", code=code).stdout)
    assert found["ok"] is (code == 0) and found["exit_code"] == code and found["command"] == words[0]
    return found


def test_export_saves_what_eager_computes(tmp_path: Path) -> None:
    out = tmp_path / "net.pt2"
    found = record("export", f"{FILE}:Net", "-i", X, "-d", "x:0=batch", "-d", "batch=2..64", "-o", str(out))
    assert found["ranges"] == {"s0": ["2", "64"]} and found["operators"] == 2 and found["output"] == str(out)
    torch.manual_seed(0)
    eager = torch.nn.Linear(4, 8)
    x = torch.randn(7, 4)
    assert torch.allclose(dynamo_lite.load(out).module()(x), eager(x))


@pytest.mark.parametrize("name", ["Net", "net", "make", "Net(width=5)", "make()"])
def test_names_of_programs(name: str) -> None:
    assert record("export", f"{FILE}:{name}", "--inputs", ":call")["operators"] == 2


def test_a_function_is_a_program() -> None:
    assert record("export", f"{FILE}:double", "--input", X)["operators"] == 1
    assert record("export", "tests.command_line.programs:double", "--input", X)["operators"] == 1


def test_keywords_and_the_inputs_of_another_file(tmp_path: Path) -> None:
    (tmp_path / "others.py").write_text("import torch\ndef inputs():\n    return torch.randn(3, 4)\n")
    words = "export", f"{FILE}:Net", "--inputs", f"{tmp_path / 'others.py'}:inputs", "--kwarg", "scale=0.5"
    assert record(*words)["inputs"] == ["x", "scale"]


def test_dimensions_below_an_argument_and_derived_ones() -> None:
    words = ["export", f"{FILE}:Nested", "-i", "{'ids': [torch.ones(4, 2), torch.ones(8)]}"]
    found = record(*words, "-d", "batch.ids.0:0=n,1=auto", "-d", "batch.ids.1:0=2*n", "-d", "n=1..10")
    assert ["1", "10"] in found["ranges"].values() and len(found["size_guards"]) >= 2


def test_a_refusal_is_exit_code_1_with_its_id() -> None:
    refused = ("export", f"{FILE}:Branches", "-i", X, "--control-flow", "refuse")
    error = record(*refused, code=1)["error"]
    assert error["id"] == error["exportdb"].replace("_", "-") == "data-dependent-branch"
    assert error["at"]["code"] == "if x.sum() > 0:" and "torch.where" in error["instead"]
    printed = run(*refused, code=1)
    assert "What to write instead" in printed.stderr and "What to write" not in printed.stdout


def test_what_the_program_raises_is_exit_code_1() -> None:
    error = record("export", f"{FILE}:Raises", "-i", X, code=1)["error"]
    assert (error["kind"], error["id"]) == ("KeyError", None)


def test_a_size_that_cannot_vary_comes_with_fixes() -> None:
    error = record("export", f"{FILE}:Net", "-i", X, "-d", "x:1=width", code=1)["error"]
    assert error["id"] == "constraint-violation" and error["fixes"]


def test_explain_lists_every_graph_break() -> None:
    explained = ("explain", f"{FILE}:Branches", "-i", "-torch.ones(2, 4)")
    problems = record(*explained, "--control-flow", "refuse", code=1)["problems"]
    assert [p["id"] for p in problems] == ["data-dependent-branch"] * 2
    assert problems[1]["at"]["code"] == "if x.max() > 3:"
    assert record("explain", f"{FILE}:Net", "-i", X)["problems"] == record(*explained)["problems"] == []


def test_check_a_saved_program(tmp_path: Path) -> None:
    out = str(tmp_path / "net.pt2")
    record("export", f"{FILE}:Net", "-i", X, "-d", "x:0=batch", "-o", out)
    assert record("check", out, f"{FILE}:Net", "-i", X)["difference"] is None
    assert "node" in record("check", out, f"{FILE}:Net", "-i", X, "--seed", "1", code=1)["difference"]
    assert record("check", out, f"{FILE}:Net", "-i", X, "--seed", "1", "--load-weights")["difference"] is None
    assert "outcome" in record("check", out, f"{FILE}:Net", "-i", X)["runs"][0]


@pytest.mark.parametrize(
    "words, said",
    [
        (["export", "nowhere.py:Net"], "there is no file"),
        (["export", "no_such_module:Net"], "no module"),
        (["export", FILE], "FILE:NAME"),
        (["export", f"{FILE}:Nope"], "NameError"),
        (["export", f"{FILE}:net.linear.weight"], "cannot be called"),
        (["export", f"{FILE}:Net", "-i", "torch.randn("], "SyntaxError"),
        (["export", f"{FILE}:Net", "-k", "3"], "NAME=EXPRESSION"),
        (["export", f"{FILE}:Net", "-i", X, "-d", "y:0=n"], "no argument 'y'"),
        (["export", f"{FILE}:Net", "-i", X, "-d", "x=n"], "ARGUMENT:DIM=NAME"),
        (["export", f"{FILE}:Net", "-i", X, "-d", "x:0=n", "-d", "m=2..3"], "no dimension has that name"),
        (["export", f"{FILE}:Net", "-i", X, "-d", "x:5=n"], "dynamic_shapes does not fit"),
        (["export", f"{FILE}:Net"], "missing"),
        (["export", f"{FILE}:Net", "-i", X, "-o", "/no/such/folder/x.pt2"], "no folder"),
        (["check", "nowhere.pt2", f"{FILE}:Net"], "there is no file"),
        (["check", FILE, f"{FILE}:Net"], "is not a saved program"),
        (["report", f"{FILE}:Net", "-i", X, "-o", "/no/such/folder/x.html"], "no folder"),
        (["report", f"{FILE}:Net", "-i", X, "-o", "x.txt"], ".html or .json"),
    ],
)
def test_what_makes_no_sense_is_exit_code_2(words: list[str], said: str) -> None:
    assert said in run(*words, code=2).stderr
    assert said in record(*words, code=2)["error"]["text"]


def test_as_a_process(tmp_path: Path) -> None:
    """stdout is JSON although the file prints, stderr has no progress when it is no terminal."""
    command = [sys.executable, "-m", "dynamo_lite", "export", f"{FILE}:make", "-i", X, "--json", "-o", "net.pt2"]
    environment = {**os.environ, "PYTHONPATH": str(HERE.parents[1])}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["output"] == "net.pt2" and (tmp_path / "net.pt2").is_file()
    assert done.stderr.strip() == "a file may print"
    nothing = subprocess.run(command[:3], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert nothing.returncode == 2 and "export" in nothing.stdout + nothing.stderr


def test_exportdb_below_the_command() -> None:
    assert "data_dependent_branch" in run("exportdb", "search", "branch", "torch.where").output
    run("exportdb", "search", "no-such-word-anywhere", code=1)
    assert "The tags: " in run("exportdb", "list", "--tag", "no-such-tag", code=2).output


def test_a_module_of_the_file_has_the_same_weights_each_time(tmp_path: Path) -> None:
    out = str(tmp_path / "net.pt2")
    words = f"{FILE}:net", "-i", X
    subprocess.run([sys.executable, "-m", "dynamo_lite", "export", *words, "-o", out], check=True, cwd=ROOT)
    subprocess.run([sys.executable, "-m", "dynamo_lite", "check", out, *words], check=True, cwd=ROOT)


def test_check_says_that_the_weights_differ(tmp_path: Path) -> None:
    out = str(tmp_path / "net.pt2")
    record("export", f"{FILE}:Net", "-i", X, "-o", out)
    found = record("check", out, f"{FILE}:Net", "-i", X, "--seed", "3", code=1)
    assert found["other_weights"]
    assert "--load-weights" in run("check", out, f"{FILE}:Net", "-i", X, "--seed", "3", code=1).output
    assert record("check", out, f"{FILE}:Net", "-i", X, "--seed", "3", "--load-weights")["other_weights"] == []


def test_what_the_program_raises_is_shown_with_its_line() -> None:
    result = run("export", f"{FILE}:Net", "-i", "torch.randn(2, 5)", code=1)
    assert "RuntimeError: " in result.stderr and 'programs.py", line' in result.stderr
    frames = record("export", f"{FILE}:Net", "-i", "torch.randn(2, 5)", code=1)["error"]["frames"]
    assert frames[0]["file"] == FILE and frames[0]["function"] == "forward"


def test_a_keyword_argument_as_an_input_is_told_where_to_go() -> None:
    assert "--kwarg" in run("export", f"{FILE}:Net", "-i", X, "-i", "scale=2.0", code=2).stderr


@pytest.mark.parametrize("word", ["auto", "Dim.AUTO", "AUTO", "Dim.DYNAMIC"])
def test_spellings_of_hints(word: str) -> None:
    assert record("export", f"{FILE}:Net", "-i", X, "-d", f"x:0={word}")["ranges"]


def test_version() -> None:
    assert run("--version").output == f"dynamo-lite {dynamo_lite.__version__}\n"


@pytest.mark.parametrize("words", [["--version"], ["exportdb", "list"]], ids=" ".join)
def test_a_closed_pipe_is_no_refusal(words: list[str]) -> None:
    command = [sys.executable, "-m", "dynamo_lite", *words]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 141
