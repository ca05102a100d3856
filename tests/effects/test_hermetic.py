"""The PEP 523 sentry: CPython evaluates no frame of the program itself, in any of the core models."""

from __future__ import annotations

import os
import sys
from types import CodeType
from typing import Any

import pytest

import dynamo_lite
from dynamo_lite.capture.dispatch_modes import OperatorMode
from dynamo_lite.interpreter import Interpreter
from dynamo_lite.interpreter.frame_audit import Sentry, is_stdlib
from dynamo_lite.tracing.calls.annotations import call_constant
from dynamo_lite.tracing.policy.native_modules import is_trusted_module
from tests.models.registry import CORE, Model, load

_PACKAGES = f"{os.sep}site-packages{os.sep}"
_NN = os.path.join("torch", "nn", "modules")


def is_program(code: CodeType) -> bool:
    """Code of the model: of the libraries that models are from and of torch.nn, not of torch's or our machinery."""
    if is_stdlib(code) or code.co_filename.startswith("<"):
        return False
    if _PACKAGES not in code.co_filename:
        return os.path.join("tests", "models") in code.co_filename
    inside = code.co_filename.rpartition(_PACKAGES)[2]
    package = inside.partition(os.sep)[0]
    if package == "torch":
        return inside.startswith(_NN) and not inside.endswith("utils.py")  # helpers of torch.nn.functional
    return package not in ("sympy", "mpmath", "_pytest", "pytest", "pluggy", "hypothesis") and not is_trusted_module(
        package
    )


def _is_outside() -> bool:
    """Whether what runs is not part of the program: an import, or a function whose result is assumed to be constant."""
    frame = sys._getframe(2)
    while frame is not None:
        file = frame.f_code.co_filename
        if file.startswith("<frozen importlib") or frame.f_code is call_constant.__code__:
            return True
        if frame.f_code is OperatorMode.operator.__code__:
            return True  # an operator's own kernels (a custom operator may have some in Python)
        if file.endswith(os.path.join("_dynamo", "mutation_guard.py")):
            return True  # torch.compile, used earlier in the process, wraps Module.__init__ in a function of torch's
        frame = frame.f_back  # type: ignore[assignment]
    return False


def _callers(depth: int = 12) -> str:
    """Who called the frame that is about to run, innermost first."""
    frame, names = sys._getframe(3), []
    while frame is not None and len(names) < depth:
        names.append(f"{frame.f_code.co_qualname}:{frame.f_lineno}")
        frame = frame.f_back  # type: ignore[assignment]
    return " < ".join(names)


def native_frames(model: Model, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The program's frames that CPython evaluated while the model's program ran in the interpreter."""
    found: list[str] = []
    enter = Interpreter.enter

    def seen(code: CodeType) -> None:
        if not _is_outside():
            found.append(f"{code.co_filename}:{code.co_firstlineno} {code.co_qualname}, called by {_callers()}")

    def watched(self: Interpreter, *call: Any) -> Any:
        if self.frame is not None:
            return enter(self, *call)
        with Sentry(is_program=is_program, on_frame=seen):
            return enter(self, *call)

    monkeypatch.setattr(Interpreter, "enter", watched)
    case = model.case()
    args, kwargs = case.inputs(0)
    dynamo_lite.export(case.module, args, kwargs)
    return found


@pytest.mark.parametrize("model", load(CORE).values(), ids=lambda model: model.name)
def test_no_frame_of_a_core_model_runs_natively(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    assert native_frames(model, monkeypatch) == []


def test_a_native_frame_would_be_seen() -> None:
    """The sentry sees what runs natively: a model called in eager."""
    model = next(iter(load(CORE).values()))
    case = model.case()
    args, kwargs = case.inputs(0)
    with Sentry(is_program=is_program) as sentry:
        case.module(*args, **kwargs)
    assert any("forward" in frame.name for frame in sentry.frames)
