"""Exports that are interrupted at an instruction of our code, and what of the process has to be as before."""

from __future__ import annotations

import gc
import logging
import random
import sys
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from types import FrameType, FunctionType
from typing import Any

import torch
from torch import nn
from torch.autograd import forward_ad

import dynamo_lite
from dynamo_lite.interpreter.datamodel.trampoline_code import is_trampoline
from dynamo_lite.tracing.vocabulary.process_state import SWITCHES

_ROOT = Path(dynamo_lite.__file__).resolve().parent
_OURS = tuple(str(path.resolve()) for path in (_ROOT, _ROOT / "symbolic_shapes", _ROOT / "guards"))


class Interruption:
    """Raises `error` at instruction `at` of our code. count: how many have been run."""

    def __init__(self, at: int, error: BaseException) -> None:
        self.at, self.error, self.count = at, error, 0
        self.where = ""

    def __call__(self, frame: FrameType, event: str, arg: Any) -> Any:
        if not frame.f_code.co_filename.startswith(_OURS):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return self._in_frame

    def _in_frame(self, frame: FrameType, event: str, arg: Any) -> Any:
        if event == "opcode":
            self.count += 1
            if self.count == self.at:
                self.where = f"{frame.f_code.co_filename}:{frame.f_lineno} {frame.f_code.co_qualname}"
                raise self.error
        return self._in_frame


def interrupted(call: Callable[[], Any], at: int, error: BaseException) -> tuple[Interruption, BaseException | None]:
    """Make the call, interrupted; what it raises, or what C code drops (in a callback of a weak reference)."""
    interruption, dropped = Interruption(at, error), []
    previous, sys.unraisablehook = sys.unraisablehook, lambda unraisable: dropped.append(unraisable.exc_value)
    sys.settrace(interruption)
    try:
        call()
    except BaseException as raised:
        return interruption, raised
    finally:
        sys.settrace(None)
        sys.unraisablehook = previous
    return interruption, dropped[0] if dropped else None


def instructions(call: Callable[[], Any]) -> int:
    """How many instructions of our code a call takes."""
    return interrupted(call, 0, KeyboardInterrupt())[0].count


def process(module: nn.Module) -> dict[str, Any]:
    """What an export leaves as it is."""
    c = torch._C
    stack = torch._ops.mode_stack_state_for_pre_dispatch()
    return {
        **{switch.name: switch.read() for switch in SWITCHES},
        "modes": [c._get_dispatch_stack_at(index) for index in range(c._len_torch_dispatch_stack())],
        "function modes": [c._get_function_stack_at(index) for index in range(c._len_torch_function_stack())],
        "pre-dispatch modes": [stack.get(0), stack.get(1), stack._schema_check_mode],
        "torch functions": str(c._get_torch_function_state()),
        "keys": [str(c._dispatch_tls_local_include_set()), str(c._dispatch_tls_local_exclude_set())],
        "levels": [c._functorch.get_dynamic_layer_stack_depth(), forward_ad._current_level],
        "inference": torch.is_inference_mode_enabled(),
        "generators": [torch.get_rng_state().tolist(), random.getstate()],
        "collector": [gc.isenabled(), gc.get_freeze_count() > 0],
        "recursion": sys.getrecursionlimit(),
        "finders": list(map(id, sys.meta_path)),
        "warnings": list(warnings.filters),
        "logs": [logging.root.manager.disable, logging.getLogger("torch._subclasses.fake_tensor").disabled],
        "profile": sys.getprofile(),
        "compiling": [torch.compiler.is_compiling(), torch.compiler.is_exporting(), *_codes()],
        "classes": {kind: {name: id(v) for name, v in vars(kind).items()} for kind in _CLASSES},
        "texts": id(torch._tensor_str._str),
        "names": [kind.__name__ for kind in _CLASSES],
        "torch": {name: id(value) for name, value in vars(torch).items() if name != "_dynamo"},
        "module": _state(module),
        "lock": _is_free(),
    }


def _codes() -> list[Any]:
    return [torch.compiler.is_compiling.__code__, torch.compiler.is_exporting.__code__]


_CLASSES = (
    *(torch.SymInt, torch.SymFloat, torch.SymBool, torch._subclasses.FakeTensor),
    *(torch.Tensor, nn.Module, torch.autograd.Function),
)


def armed() -> list[FunctionType]:
    """Functions that have a trampoline in the place of their code."""
    return [value for value in gc.get_objects() if type(value) is FunctionType and is_trampoline(value.__code__)]


def _state(module: nn.Module) -> list[Any]:
    rows: list[Any] = []
    for name, part in module.named_modules():
        rows += [name, part.training, sorted(vars(part)), sorted(vars(type(part)))]
        rows += [(key, repr(value)) for key, value in vars(part).items() if not key.startswith("_")]
        rows += [
            (key, id(value), value.tolist(), value.requires_grad, value.grad is None, sorted(vars(value)))
            for key, value in (*part._parameters.items(), *part._buffers.items())
            if value is not None
        ]
    return rows


def _is_free() -> bool:
    """Whether another thread may trace."""
    from dynamo_lite.exclusive import _lock

    found: list[bool] = []

    def ask() -> None:
        found.append(_lock.acquire(blocking=False))
        if found[0]:
            _lock.release()

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    return found[0]


def differences(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    return [name for name, value in before.items() if value != after[name]]
