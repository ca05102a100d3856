"""Verdicts: each toy is wrong in one way, and the laboratory names it; eager itself is equal in the whole corpus."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from dynamo_lite.lab import exporters, programs
from dynamo_lite.lab.exporters import Exporter
from dynamo_lite.lab.judge import judge
from dynamo_lite.lab.observe import SWITCHES

from . import toys

WRONG = [
    (toys.Values, "aliasing.strides", 0, "output tensor 0 is"),
    (toys.Dtypes, "aliasing.strides", 0, "dtype"),
    (toys.Strides, "sizes.mask", 0, "strides"),
    (toys.Shapes, "sizes.mask", 0, "shape"),
    (toys.Copies, "aliasing.view_returned", 0, "shares storage with"),
    (toys.Copies, "aliasing.input_returned", 0, "out0 is in0 only with eager"),
    (toys.Copies, "aliasing.twice", 0, "out0 is out1 only with eager"),
    (toys.Detached, "gradients.network", 0, "requires_grad"),
    (toys.ScaledGradients, "gradients.network", 0, "gradient"),
    (toys.Draws, "sizes.mask", 0, "torch's random state"),
    (toys.PythonDraws, "sizes.mask", 0, "Python's random state"),
    (toys.NoGrad, "sizes.mask", 0, "grad mode"),
    (toys.Swallows, "language.own_error", 3, "eager raises ValueError"),
    (toys.OnCopies, "aliasing.argument_written", 0, "argument tensor 0"),
    (toys.OnCopies, "aliasing.list_appended", 0, "arguments"),
    (toys.OnCopies, "state.buffer_in_place", 0, "state 'total'"),
    (toys.OnCopies, "state.counter_unread", 0, "attribute 'calls'"),
    (toys.Recorded, "sizes.mask", 1, "output tensor 0"),
]


@pytest.mark.parametrize(("toy", "id", "call", "text"), WRONG, ids=lambda value: getattr(value, "__name__", str(value)))
def test_a_wrong_program_is_found(toy: type[Any], id: str, call: int, text: str) -> None:
    answer = judge(programs.find(id), toy())
    assert (answer.verdict, answer.call) == ("wrong", call), answer
    assert text in answer.text
    assert answer.input and answer.got and answer.want


def test_a_toy_that_is_right() -> None:
    assert judge(programs.find("state.buffer_in_place"), toys.Toy()).verdict == "equal"


def test_refused_and_rejected() -> None:
    refused = judge(programs.find("sizes.mask"), toys.Refuses())
    assert (refused.verdict, refused.text) == ("refused", "NotImplementedError: never")
    rejected = judge(programs.find("sizes.mask"), toys.Rejects())
    assert (rejected.verdict, rejected.call) == ("rejected-call", 0) and "KeyError" in rejected.text


def test_a_call_after_a_rejected_one_is_still_compared() -> None:
    """Eager does not make the call that the program has rejected: its state is that of the calls of both."""

    class Half(toys.Toy):
        calls = 0

        def spoil(self, result: Any) -> Any:
            self.calls += 1
            if self.calls == 1:
                raise KeyError("no")
            return result + (self.calls == 3)

    class Skips(toys.Toy):
        def export(self, module: Any, args: Any, kwargs: Any, dynamic_shapes: Any) -> Any:
            calls = []

            def hook(own: Any, args: Any) -> None:
                calls.append(1)
                if len(calls) == 1:
                    raise KeyError("no")

            own = toys.Toy.export(self, module, args, kwargs, dynamic_shapes)
            own.register_forward_pre_hook(hook)
            return own

    assert judge(programs.find("state.buffer_in_place"), Skips()).verdict == "rejected-call"
    wrong = judge(programs.find("sizes.mask"), Half())
    assert (wrong.verdict, wrong.call) == ("wrong", 2)


def test_an_export_that_changes_the_users_objects() -> None:
    answer = judge(programs.find("state.counter"), toys.Recorded())
    assert "n" in answer.changed and answer.verdict == "wrong"
    assert judge(programs.find("state.counter"), exporters.Eager()).changed == ""


def test_eager_is_equal_in_the_whole_corpus() -> None:
    eager, before = exporters.Eager(), [read() for read, _ in SWITCHES.values()]
    answers = [judge(programs.find(id), eager) for id in (*programs.chosen([]), "generated.0", "generated.7")]
    assert [(answer.id, answer.text) for answer in answers if answer.verdict != "equal"] == []
    assert [read() for read, _ in SWITCHES.values()] == before


@pytest.mark.parametrize("name", ["torch-nonstrict", "torch-strict", "torch-compile", "torch-jit-trace", "torch-fx"])
def test_the_exporters_of_torch(name: str) -> None:
    exporter = exporters.load(name)
    assert isinstance(exporter, Exporter) and exporter.version == torch.__version__
    assert judge(programs.find("language.functional"), exporter).verdict in ("equal", "refused")


def test_the_non_strict_exporter_loses_a_counter() -> None:
    assert judge(programs.find("state.iterator"), exporters.load("torch-nonstrict")).verdict == "wrong"


def test_guards_reject_what_the_program_alone_gets_wrong() -> None:
    program = programs.find("gradients.grad_mode_decides")
    assert judge(program, exporters.load("dynamo-lite")).verdict == "wrong"
    assert judge(program, exporters.load("dynamo-lite-guarded")).verdict == "rejected-call"


def test_names_that_are_not_known() -> None:
    with pytest.raises(LookupError, match="torch-nonstrict"):
        exporters.load("nothing")
    with pytest.raises(TypeError, match="lacks version, export, reset"):
        exporters.load("tests.lab.toys:NoExporter")
    with pytest.raises(KeyError, match="no class 'nothing'"):
        programs.find("nothing.x")
    with pytest.raises(KeyError, match="no program"):
        programs.find("state.nothing")
