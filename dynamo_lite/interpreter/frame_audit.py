"""The sentry: lists the frames of the program that CPython evaluated itself.

A PEP 523 frame evaluator is called for every Python frame before CPython runs it. The interpreter's own frames are
expected there; a frame of the program is one that the interpreter missed (a C function called a Python function which
has no trampoline). The evaluator is torch's (checked with torch 2.13.0: torch/csrc/dynamo/eval_frame.c), so torch is
imported, here only and only when a sentry is used.
"""

from __future__ import annotations

import os
import sysconfig
from collections import Counter
from collections.abc import Callable
from types import CodeType, TracebackType
from typing import Any, NamedTuple

from dynamo_lite.folders import OWN
from dynamo_lite.interpreter.datamodel.trampoline_code import is_trampoline
from dynamo_lite.interpreter.frames.tracebacks import is_stub

_STDLIB = (sysconfig.get_path("stdlib") + os.sep, "<frozen ")
_SITE_PACKAGES = f"{os.sep}site-packages{os.sep}"


class SentryUnavailable(RuntimeError):
    """The sentry needs torch, which is not installed or has no frame evaluator."""


class AuditedFunction(NamedTuple):
    """A function of the program that CPython evaluated, and how often."""

    filename: str
    lineno: int
    name: str
    times: int


def is_stdlib(code: CodeType) -> bool:
    return code.co_filename.startswith(_STDLIB) and _SITE_PACKAGES not in code.co_filename


def is_substitute(code: CodeType) -> bool:
    """A trampoline of trampoline_code.py, or a stub (tracebacks.py): the program's name and file, but not its body."""
    return is_trampoline(code) or is_stub(code)


class Sentry:
    """Lists the program's frames that are evaluated natively while the `with` block runs.

    `is_program(code)` is whether code belongs to the program; by default everything except this package and torch.
    Frames of the standard library count only during a native call made by the program (`vm.trampolines.open`): the
    interpreter uses the standard library too. `on_frame(code)` is called for each frame as it begins.

    Raises: SentryUnavailable on entry if torch cannot be imported.
    """

    def __init__(
        self,
        vm: Any = None,
        is_program: Callable[[CodeType], bool] | None = None,
        on_frame: Callable[[CodeType], None] | None = None,
    ) -> None:
        self._vm = vm
        self._is_program = is_program
        self._on_frame = on_frame
        self._seen: Counter[CodeType] = Counter()
        self._verdicts: dict[CodeType, bool] = {}
        self._previous: Any = None

    @property
    def frames(self) -> list[AuditedFunction]:
        """The functions seen so far, in order of first evaluation."""
        return [
            AuditedFunction(code.co_filename, code.co_firstlineno, code.co_qualname, count)
            for code, count in self._seen.items()
        ]

    def __enter__(self) -> Sentry:
        set_eval_frame, convert = _evaluator()
        if self._is_program is None:
            import torch

            foreign = (*OWN, os.path.dirname(torch.__file__) + os.sep)
            self._is_program = lambda code: not code.co_filename.startswith(foreign)

        def evaluate(frame: Any, cache_entry: Any, frame_state: Any) -> Any:
            code = frame.f_code
            verdict = self._verdicts.get(code)
            if verdict is None:
                verdict = self._verdicts[code] = not is_substitute(code) and bool(self._is_program(code))  # type: ignore[misc]
            if verdict and (not is_stdlib(code) or (self._vm is not None and self._vm.trampolines.open)):
                self._seen[code] += 1
                if self._on_frame is not None:
                    self._on_frame(code)
            return convert(apply_to_code=False) if verdict else convert()

        self._previous = set_eval_frame(evaluate)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        set_eval_frame, _ = _evaluator()
        set_eval_frame(self._previous)


def _evaluator() -> tuple[Callable[[Any], Any], Any]:
    missing: Exception
    try:
        from dynamo_lite.torch_internals._torch_dynamo import ConvertFrameReturn, set_eval_frame
    except ImportError as error:
        missing = error
    else:
        return set_eval_frame, ConvertFrameReturn
    raise SentryUnavailable(f"the sentry needs torch's frame evaluator (torch 2.13): {missing}")


class Watched(NamedTuple):
    """The result of a call, and the program's frames that CPython evaluated during it."""

    value: Any
    native_frames: list[AuditedFunction]


def watched(call: Callable[[], Any], vm: Any = None) -> Watched:
    """Runs `call()` under a sentry. With `vm`, the running interpreter, frames of the standard library count too."""
    with Sentry(vm, on_frame=None if vm is None else vm.observer.on_native_frame) as sentry:
        value = call()
    return Watched(value, sentry.frames)
