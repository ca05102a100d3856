"""Errors: each id has a case, each text ends with it, and code that catches torch's classes catches ours."""

from __future__ import annotations

import ast
import functools
import json
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch.fx.experimental.symbolic_shapes import ConstraintViolationError, GuardOnDataDependentSymNode

import dynamo_lite
from dynamo_lite import errors
from dynamo_lite.errors import InputMismatch, UnsupportedValue
from dynamo_lite.exportdb import catalogue
from dynamo_lite.exportdb.checking import error_of
from dynamo_lite.torch_errors import COUNTERPARTS, link
from dynamo_lite.tracing.vocabulary.graph_breaks import GRAPH_BREAKS

SOURCES = sorted(Path(dynamo_lite.__file__).parent.rglob("*.py"))

WITHOUT_A_CASE = {
    "internal": "a bug of ours: no program is supposed to show it",
    "inexact": "caught by the run, which starts again without its memory",
    "data-dependent-question": "becomes data-dependent-branch or data-dependent-value (Tracer.refused)",
    "error": "the name of the family",
    "graph-break": "the name of the family",
}


@functools.cache
def _raised_ids() -> tuple[tuple[str, str], ...]:
    return tuple(_search_ids())


def _search_ids() -> Iterator[tuple[str, str]]:
    """(id, file) for each id in the source: of a class, of a refusal, of a CaptureError or a GraphBreak."""
    for path in SOURCES:
        if "exportdb" in path.parts:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                yield from ((text, path.name) for text in _class_id(node))
            elif isinstance(node, ast.Call) and node.args and _name(node.func) in _TAKES_ID:
                first = node.args[0]
                if isinstance(first, ast.Constant) and isinstance(first.value, str):
                    yield first.value, path.name


_TAKES_ID = {
    "refuse", "refusal", "_refusal", "CaptureError", "UnknownTensor", "GraphBreak",
    *(cls.__name__ for cls in errors.GraphBreak.__subclasses__()),
}  # fmt: skip


def _name(func: ast.expr) -> str:
    return getattr(func, "attr", getattr(func, "id", ""))


def _class_id(node: ast.ClassDef) -> list[str]:
    return [
        statement.value.value
        for statement in node.body
        if isinstance(statement, ast.Assign)
        and getattr(statement.targets[0], "id", "") == "id"
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    ]


def _shown() -> set[str | None]:
    return {case.error for case in catalogue.all_cases()}


def test_every_id_in_the_source_has_a_case_of_its_name() -> None:
    raised = dict(_raised_ids())
    assert len(raised) > 30  # the search finds something
    missing = {id: file for id, file in raised.items() if catalogue.case_for(id) is None}
    assert missing.keys() - WITHOUT_A_CASE.keys() == set(), missing


@pytest.mark.parametrize("id", GRAPH_BREAKS)
def test_every_row_of_the_refusals_is_shown_by_the_case_of_its_name(id: str) -> None:
    name = catalogue.case_for(id)
    assert name is not None
    assert catalogue.load(name).error == id


def test_every_id_of_a_case_is_raised_in_the_source() -> None:
    known = {id for id, _ in _raised_ids()} | GRAPH_BREAKS.keys()
    assert {error for error in _shown() if error is not None} - known == set()


def test_the_text_has_id_stack_carets_rewrite_and_case() -> None:
    case = catalogue.load("data_dependent_branch")
    error = error_of(case)
    assert isinstance(error, errors.GraphBreak)
    text = str(error)
    lines = text.splitlines()
    assert lines[0].startswith("[data-dependent-branch] ")
    at = lines.index(f'  File "{case.path}", line {case.marked_line}, in forward')
    source = case.source.splitlines()[error.frame.lineno - 1].strip()
    assert lines[at + 1] == f"    {source}"
    carets = lines[at + 2]
    assert source[carets.index("^") - 4 : carets.rindex("^") - 3] == "x.sum() > 0"
    assert f"What to write instead: {error.instead}" in text
    assert lines[-1] == f"exportdb: {case.name}   (python -m dynamo_lite exportdb show {case.name})"


def test_an_error_may_name_a_closer_case() -> None:
    error = error_of(catalogue.load("data_dependent_size"))
    assert error is not None
    assert (error.id, error.exportdb) == ("data-dependent-branch", "data_dependent_size")
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error)


def test_functions_are_called_as_programs_write_them() -> None:
    assert "torch.Tensor.data_ptr()" in str(error_of(catalogue.load("data_dependent_value")))
    assert "random.random()" in str(error_of(catalogue.load("unrecordable_value")))


def test_the_line_to_look_at_is_the_user_s_not_torch_s() -> None:
    case = catalogue.load("cond_mismatch")
    error = error_of(case)
    assert isinstance(error, errors.GraphBreak)
    assert error.frames[-1].is_library  # torch.cond is Python
    assert (error.frame.filename, error.frame.lineno) == (str(case.path), case.marked_line)
    assert errors.UserFrame(json.__file__, 1, "loads").is_library
    assert not errors.UserFrame(pytest.__file__, 1, "raises").is_library


def _examples() -> list[errors.DynamoLiteError]:
    frame = errors.UserFrame("m.py", 3, "forward")
    breaks = [cls("python-state", "what", "instead", (frame,)) for cls in errors.GraphBreak.__subclasses__()]
    others = [errors.InvalidArguments("no"), errors.ConstraintViolation("no"), InputMismatch("no")]
    return [*breaks, *others, UnsupportedValue("x[0]", "a socket"), errors.InternalError("no")]


@pytest.mark.parametrize("error", _examples(), ids=lambda error: type(error).__name__)
def test_errors_can_be_pickled(error: errors.DynamoLiteError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert vars(again) == vars(error)


def _branch(x: torch.Tensor) -> torch.Tensor:
    return x if x.sum() > 0 else -x


@pytest.mark.parametrize(
    ("cls", "kind"),
    [
        (errors.GraphBreak, None),
        (GuardOnDataDependentSymNode, None),
        (torch._dynamo.exc.Unsupported, None),
        (torch._dynamo.exc.UserError, "DYNAMIC_CONTROL_FLOW"),
    ],
)
def test_a_refusal_is_caught_as_torch_s_error(cls: type[Exception], kind: str | None) -> None:
    with pytest.raises(cls) as caught:
        dynamo_lite.export(_branch, (torch.ones(3),), control_flow="refuse")
    assert type(caught.value) is errors.DataDependent
    assert kind is None or caught.value.error_type is torch._dynamo.exc.UserErrorType[kind]


_WITHOUT_TORCH_DYNAMO = """
import sys
import torch
import dynamo_lite
{program}
try:
    {call}
except Exception as error:
    raised = error
    assert isinstance(error, dynamo_lite.errors.DynamoLiteError), error
assert "torch._dynamo" not in sys.modules
hooks = list(sys.meta_path)
try:
    try:
        raise raised
    except RuntimeError as error:
        assert "torch._dynamo" not in sys.modules
        raise
except torch._dynamo.exc.{cls} as error:
    assert error is raised
kind = {kind!r}
assert kind is None or raised.error_type is torch._dynamo.exc.UserErrorType[kind]
assert len(sys.meta_path) == len(hooks) - 1, sys.meta_path
"""


@pytest.mark.parametrize(
    ("program", "call", "cls", "kind"),
    [
        ("f = lambda x: x * id(x)", "dynamo_lite.export(f, (torch.ones(3),))", "Unsupported", None),
        ("f = lambda x: open('file', 'w')", "dynamo_lite.export(f, (torch.ones(3),))", "Unsupported", None),
        (
            "f = lambda x: x if x.sum() > 0 else -x",
            "dynamo_lite.export(f, (torch.ones(3),), control_flow='refuse')",
            *("UserError", "DYNAMIC_CONTROL_FLOW"),
        ),
        (
            "f = lambda x: x + torch.ones(3)",
            "dynamo_lite.export(f, (torch.ones(3),), dynamic_shapes={'x': {0: torch.export.Dim('n')}})",
            *("UserError", "CONSTRAINT_VIOLATION"),
        ),
        ("f = None", "dynamo_lite.export(f, (torch.ones(3),))", "UserError", "INVALID_INPUT"),
        ("f = lambda x: x * 2", "dynamo_lite.export(f, (object(),))", "UserError", "INVALID_OUTPUT"),
    ],
)
def test_an_error_imports_no_torch_dynamo(program: str, call: str, cls: str, kind: str | None) -> None:
    code = _WITHOUT_TORCH_DYNAMO.format(program=program, call=call, cls=cls, kind=kind)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_wrong_arguments_are_a_value_error_and_torch_s_user_error() -> None:
    for cls in (ValueError, torch._dynamo.exc.UserError, errors.DynamoLiteError):
        with pytest.raises(cls):
            dynamo_lite.export(_branch, torch.ones(3))


def test_errors_made_after_the_link_are_built_as_before() -> None:
    link()
    for error in _examples():
        assert str(error).startswith(str(error.args[0]))
    assert issubclass(errors.ConstraintViolation, ConstraintViolationError)
    for ours, (names, _) in COUNTERPARTS.items():
        assert set(names) <= {cls.__name__ for cls in ours.__mro__}
