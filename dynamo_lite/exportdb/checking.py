"""Running a case: does it behave as its file states?"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from dynamo_lite.errors import DynamoLiteError, GraphBreak
from dynamo_lite.exportdb.case import Call, Case, load
from dynamo_lite.exportdb.comparison import difference


@contextmanager
def quietly() -> Iterator[None]:
    """Without the warnings that cases raise on purpose."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@quietly()
def check(case: Case) -> list[str]:
    """The claims of `case` that do not hold, in words; empty if all does.

    A refused module works in eager, is refused with exactly its error at the marked line, and its rewrite exports,
    equals eager over two calls and returns what the module returns. A module that works equals eager over two calls,
    and on `other_inputs()`.
    """
    if case.error is None:
        calls = [case.inputs(), case.inputs(), *case.other_inputs()]
        return differences(case.module(), case.export(), calls, not case.returned)
    problems = _graph_break(case)
    if not case.has_rewrite:
        return [*problems, "there is no rewrite"]
    program = case.export_rewrite()
    return problems + differences(case.rewrite(), program, [case.rewrite_inputs()] * 2) + _intent(case)


def error_of(case: Case) -> DynamoLiteError | None:
    """The error that rejects the module, at export or (`wrong_inputs`) when the program is called."""
    try:
        program = case.export()
        if case.rejects:
            wrong = case.wrong_inputs()
            program.module()(*wrong.args, **wrong.kwargs)
    except DynamoLiteError as error:
        return error
    return None


def names_its_case(error: DynamoLiteError) -> bool:
    """Whether the text ends with a case of the same error. Suggested fixes may follow: torch's tools want them last."""
    last = str(error).partition("\n\nSuggested fixes:\n")[0].splitlines()[-1]
    name = error.exportdb
    return name is not None and last.startswith(f"exportdb: {name} ") and load(name).error == error.id


def _graph_break(case: Case) -> list[str]:
    error = error_of(case)
    if error is None:
        return [f"it exports, but should be refused with {case.error}"]
    problems = []
    if error.id != case.error:
        problems.append(f"it is refused with {error.id}, not {case.error}:\n{error}")
    shown = [frame.lineno for frame in getattr(error, "frames", ()) if frame.filename == str(case.path)]
    line = shown[-1] if shown else None
    if isinstance(error, GraphBreak) and line != case.marked_line:
        problems.append(f"it is refused at line {line}, not at the marked line {case.marked_line}")
    if not names_its_case(error):
        problems.append("the error does not end with a case of its id")
    return problems


def differences(eager: Callable[..., Any], program: Any, calls: list[Call], arguments: bool = True) -> list[str]:
    """Where an exported program differs from `eager` over these calls, in words.

    Both run on the same calls, one after the other; results, arguments (unless `arguments` is off) and buffers count.
    """
    module = program.module()
    for number, call in enumerate(calls, 1):
        mine, theirs = copy.deepcopy(call), copy.deepcopy(call)
        got, want = _run(module, mine), _run(eager, theirs)
        text = difference(got, want)
        if text is None and arguments:
            text = difference(mine.args, theirs.args, path="the arguments")
        if text:
            return [f"call {number} differs from eager: {text}"]
    return [
        f"after the calls the buffer {name} differs from eager's: {text}"
        for name, value in _buffers(eager).items()
        if name in _buffers(module) and (text := difference(_buffers(module)[name], value))
    ]


def _intent(case: Case) -> list[str]:
    """The module and its rewrite, both in eager, give the same."""
    torch.manual_seed(0)
    text = difference(_run(case.rewrite(), case.rewrite_inputs()), case.eager(), case.same_values)
    return [f"the rewrite does not do what the module does: {text}"] if text else []


def _run(program: Callable[..., Any], call: Call) -> Any:
    torch.manual_seed(0)
    return program(*call.args, **call.kwargs)


def _buffers(program: Any) -> dict[str, torch.Tensor]:
    return dict(program.named_buffers()) if isinstance(program, torch.nn.Module) else {}
