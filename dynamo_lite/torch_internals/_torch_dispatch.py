"""The private torch API for dispatch keys and modes, and for the interaction with torch.compile.

Checked with torch 2.13.0, 2.14.1 and 2.15.0.
"""

from __future__ import annotations

import importlib
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from inspect import CO_GENERATOR
from sys import _current_frames
from threading import get_ident
from types import CodeType, FrameType, FunctionType
from typing import Any

import torch
from torch import _C as _C
from torch._C import DisableTorchFunction as DisableTorchFunction
from torch._C import DisableTorchFunctionSubclass as DisableTorchFunctionSubclass
from torch._C import DispatchKey as DispatchKey
from torch._C import DispatchKeySet as DispatchKeySet
from torch._C import _AutoDispatchBelowAutograd as _AutoDispatchBelowAutograd
from torch._C import _autograd as _autograd
from torch._C import _disabled_torch_function_impl as _disabled_torch_function_impl
from torch._C import _DisablePythonDispatcher as _DisablePythonDispatcher
from torch._C import _DisableTorchDispatch as _DisableTorchDispatch
from torch._C import _dispatch_has_kernel_for_dispatch_key as _dispatch_has_kernel_for_dispatch_key
from torch._C import _dispatch_tls_is_dispatch_key_excluded as _dispatch_tls_is_dispatch_key_excluded
from torch._C import _dispatch_tls_is_dispatch_key_included as _dispatch_tls_is_dispatch_key_included
from torch._C import _ExcludeDispatchKeyGuard as _ExcludeDispatchKeyGuard
from torch._C import _get_dispatch_mode as _get_dispatch_mode
from torch._C import _is_torch_function_mode_enabled as _is_torch_function_mode_enabled
from torch._C import _len_torch_dispatch_stack as _len_torch_dispatch_stack
from torch._C import _len_torch_function_stack as _len_torch_function_stack
from torch._C import _pop_torch_function_stack as _pop_torch_function_stack
from torch._C import _push_on_torch_function_stack as _push_on_torch_function_stack
from torch._C import _TorchDispatchModeKey as _TorchDispatchModeKey
from torch._C._dynamo.eval_frame import _FrameAction, _FrameExecStrategy, set_code_exec_strategy
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.jit._state import _try_get_jit_cached_function as _try_get_jit_cached_function
from torch.overrides import _get_current_function_mode_stack as _get_current_function_mode_stack
from torch.utils._python_dispatch import TorchDispatchMode as TorchDispatchMode
from torch.utils._python_dispatch import _disable_current_modes as _disable_current_modes
from torch.utils._python_dispatch import is_traceable_wrapper_subclass_type as is_traceable_wrapper_subclass_type

from dynamo_lite.symbolic_shapes.torch_versions import Symbol
from dynamo_lite.undoing import changing, undone


def never_compiled(function: Callable[..., Any]) -> Any:
    """A decorator: torch.compile runs frames of this function, and of its callees, instead of compiling each. It
    concerns frames that torch.compile meets on the way to a program's code (torch's checks of its inputs run as they
    are, and call it). A call within compiled code is traced as before."""
    set_code_exec_strategy(function.__code__, _FrameExecStrategy(_FrameAction.SKIP, _FrameAction.SKIP))
    return function


_answers: dict[int, bool] = {}
"""thread → what torch.compiler.is_compiling() and is_exporting() answer in it, where they are not torch's own."""
_ASKED: tuple[Any, ...] = (torch.compiler.is_compiling, torch.compiler.is_exporting)


class _Answer:
    """Replaces the body of one of the functions in `_CODES`."""

    def __init__(self, question: Any) -> None:
        self._plain = FunctionType(question.__code__, question.__globals__)

    def __call__(self) -> bool:
        answer = _answers.get(get_ident())
        return bool(self._plain()) if answer is None else answer


def _calling(function: Any, called: Callable[[], Any]) -> CodeType:
    """Code for a function without parameters, which returns what `called` does."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # 'str' object is not callable: the constant is replaced
        code = eval("lambda: 'called'()").__code__
    plain: CodeType = function.__code__
    return plain.replace(
        co_code=code.co_code,
        co_consts=tuple(called if const == "called" else const for const in code.co_consts),
        co_stacksize=code.co_stacksize,
        co_flags=plain.co_flags & ~CO_GENERATOR,
        co_names=(),
        co_linetable=code.co_linetable,
        co_exceptiontable=b"",
    )


_CODES = [(question, question.__code__, _calling(question, _Answer(question))) for question in _ASKED]


class OtherExports:
    """torch.export in other threads, which waits for `lock` where it begins (torch keeps its state for all threads)."""

    def __init__(self, lock: Any) -> None:
        self._lock = lock
        self._code = _calling(_BEGINS, self._waiting)
        self._earlier: list[FrameType] = []

    def stop(self) -> None:
        """Waits for exports that have begun, and has later ones wait (unless torch.export is imported later)."""
        if _EXPORT in sys.modules:
            importlib.import_module(_EXPORT)  # which waits for another thread that imports it
            _put_code(self._code)
            self._earlier = _exports()
            while self._earlier:
                time.sleep(_POLL)
                running = _exports()
                self._earlier = [frame for frame in self._earlier if frame in running]

    def let(self) -> None:
        """They need not wait any more."""
        _put_code(_PLAIN.__code__)
        self._earlier = []

    def _waiting(self) -> Any:
        """In the place of `_BEGINS`."""
        export = None if self._lock._is_owned() else _export_of(sys._getframe())
        return _PLAIN() if export is None else self._after(export)

    def _after(self, export: FrameType) -> Iterator[Any]:
        while export not in self._earlier:  # it may be added meanwhile
            if self._lock.acquire(timeout=_POLL):
                try:
                    return (yield from _PLAIN())
                finally:
                    self._lock.release()
        return (yield from _PLAIN())


def _put_code(code: CodeType) -> None:
    if sys.version_info >= (3, 13):  # which warns of a plain function's code in the place of a generator's
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            _BEGINS.__code__ = code
    else:
        _BEGINS.__code__ = code


_EXPORT = "torch.export._trace"
_BEGINS: Any = unset_fake_temporarily.__wrapped__  # type: ignore[attr-defined]
"""The generator of the block that is around all that torch.export does."""
_PLAIN = FunctionType(_BEGINS.__code__, _BEGINS.__globals__)
_POLL = 0.005


def _exports() -> list[FrameType]:
    """The outermost frame of each torch.export in another thread."""
    frames = _current_frames()
    if len(frames) == 1:
        return []
    found = (_export_of(frame) for thread, frame in frames.items() if thread != get_ident())
    return [frame for frame in found if frame is not None]


def _export_of(frame: FrameType | None) -> FrameType | None:
    found = None
    while frame is not None:
        names: Any = frame.f_globals  # None while another thread takes the frame down
        if names is not None and names.get("__name__") == _EXPORT:
            found = frame
        frame = frame.f_back
    return found


@contextmanager
def compiling(answer: bool) -> Iterator[None]:
    """A context in which torch's functions for "is this being compiled or exported" return `answer` in this thread.

    torch's own flags are not changed: other threads read them, and torch.export in another thread restores the values
    that it finds in them.
    """
    thread, outer = get_ident(), _answers.get(get_ident())

    def undo() -> None:
        if outer is not None:
            _answers[thread] = outer
            return
        _answers.pop(thread, None)
        for question, plain, _ in _CODES:
            question.__code__ = plain

    try:
        changing(undo)
        _answers[thread] = answer
        if outer is None:
            for question, _, ours in _CODES:
                question.__code__ = ours
        yield
    finally:
        undone(undo)


def class_in_cpp(method: Any) -> str | None:
    """The class of the object whose method a torch.ScriptMethod is, if C++ has registered it (torch.classes)."""
    name = str(method.raw_owner._type().qualified_name()).removeprefix("__torch__.")
    return name if name.startswith("torch.classes.") else None


@contextmanager
def uncompiled(method: Any) -> Iterator[Any]:
    """Yields a method of a ScriptModule in its state before the first call: nothing is compiled for it.

    It has no `__wrapped__`, the Python function that torch would call, with a wrong `self`, given fake tensors.
    """
    method = method.owner._get_method(method.name)
    method._debug_flush_compilation_cache()
    try:
        yield method
    finally:
        method._debug_flush_compilation_cache()


@contextmanager
def uncompiled_function(function: Any) -> Iterator[Any]:
    """The same for a function that torch.jit.script or torch.jit.trace has made: it takes all arguments by position.

    During an export torch would call the Python function that it was made from.
    """
    with compiling(False):
        yield _C._create_function_from_graph(function.name, function.inlined_graph.copy())


def scripted_from(function: Any) -> Any:
    """The Python function that torch.jit.script made a function from; None if torch.jit.trace made it."""
    original = getattr(function, "_torchdynamo_inline", None)
    cached = None if original is None else _try_get_jit_cached_function(original)
    return original if cached is not None and cached.qualified_name == function.qualified_name else None


DISABLES = "every export and trace"
"""The features that fail if one of these is missing."""

SYMBOLS = (
    Symbol("torch._subclasses.fake_tensor:unset_fake_temporarily", "torch.export in another thread waits for a trace"),
    Symbol("torch._C._dynamo.eval_frame:_FrameAction", "skipping a frame, as an action of torch.compile"),
    Symbol("torch._C._dynamo.eval_frame:_FrameExecStrategy", "how torch.compile treats frames of a code object"),
    Symbol("torch._C._dynamo.eval_frame:set_code_exec_strategy", "torch.compile does not compile a trace"),
    Symbol(
        "torch:_C",
        "settings of the process by name (tracing/vocabulary/process_state.py), each of which may be missing",
    ),
    Symbol("torch._C:DisableTorchFunction", "function modes off while the tracer itself works"),
    Symbol(
        "torch._C:DisableTorchFunctionSubclass",
        "__torch_function__ of subclasses off while the tracer itself works",
    ),
    Symbol("torch._C:DispatchKey", "keys of the dispatcher"),
    Symbol("torch._C:DispatchKeySet", "keys of a tensor"),
    Symbol("torch._C:_AutoDispatchBelowAutograd", "a kernel without autograd"),
    Symbol("torch._C:ScriptMethod._debug_flush_compilation_cache", "TorchScript runs as if for the first time"),
    Symbol("torch._C:ScriptMethod.raw_owner", "whether a method is of an object of C++ or of TorchScript's"),
    Symbol("torch._C:ScriptModule._get_method", "a method of TorchScript without the Python function it is made from"),
    Symbol(
        "torch._C:_create_function_from_graph",
        "a function of TorchScript without the Python function it is made from",
    ),
    Symbol("torch._C:_autograd", "hooks on saved tensors; the state of the profiler"),
    Symbol("torch._C:_disabled_torch_function_impl", "which subclasses take no part in __torch_function__"),
    Symbol("torch._C:_DisablePythonDispatcher", "real tensors are made natively during a trace"),
    Symbol(
        "torch._C:_DisableTorchDispatch",
        "a wrapper subclass's inner tensors are reached below its __torch_dispatch__",
    ),
    Symbol(
        "torch._C:_dispatch_has_kernel_for_dispatch_key",
        "whether an operator has a kernel of its own (autocast, autograd)",
    ),
    Symbol(
        "torch._C:_dispatch_tls_is_dispatch_key_excluded",
        "which state of the dispatcher a memory of results depends on",
    ),
    Symbol(
        "torch._C:_dispatch_tls_is_dispatch_key_included",
        "which state of the dispatcher a memory of results depends on",
    ),
    Symbol("torch._C:_ExcludeDispatchKeyGuard", "autocast off for an operator that runs a second time"),
    Symbol("torch._C:_get_dispatch_mode", "whether a make_fx tracer is active"),
    Symbol("torch._C:_is_torch_function_mode_enabled", "operators of the autograd engine, which no function calls"),
    Symbol("torch._C:_len_torch_dispatch_stack", "modes of the program's own, which are refused"),
    Symbol("torch._C:_len_torch_function_stack", "modes of the program's own"),
    Symbol("torch._C:_pop_torch_function_stack", "modes of the program's own are entered and left in the interpreter"),
    Symbol(
        "torch._C:_push_on_torch_function_stack",
        "modes of the program's own are entered and left in the interpreter",
    ),
    Symbol("torch._C:_TorchDispatchModeKey", "which mode is asked for"),
    Symbol("torch.jit._state:_try_get_jit_cached_function", "whether a function of TorchScript was scripted or traced"),
    Symbol("torch.overrides:_get_current_function_mode_stack", "modes of the program's own"),
    Symbol("torch.utils._python_dispatch:TorchDispatchMode", "the class of modes"),
    Symbol("torch.utils._python_dispatch:_disable_current_modes", "real tensors are made below all modes"),
    Symbol(
        "torch.utils._python_dispatch:is_traceable_wrapper_subclass_type",
        "subclasses made of inner tensors (DTensor, ...)",
    ),
)

__all__ = [
    "OtherExports",
    "DisableTorchFunction",
    "DisableTorchFunctionSubclass",
    "DispatchKey",
    "DispatchKeySet",
    "TorchDispatchMode",
    "_AutoDispatchBelowAutograd",
    "_C",
    "_DisablePythonDispatcher",
    "_DisableTorchDispatch",
    "_ExcludeDispatchKeyGuard",
    "_TorchDispatchModeKey",
    "_autograd",
    "class_in_cpp",
    "_disable_current_modes",
    "_disabled_torch_function_impl",
    "_dispatch_has_kernel_for_dispatch_key",
    "_dispatch_tls_is_dispatch_key_excluded",
    "_dispatch_tls_is_dispatch_key_included",
    "_get_current_function_mode_stack",
    "_get_dispatch_mode",
    "_is_torch_function_mode_enabled",
    "_len_torch_dispatch_stack",
    "_len_torch_function_stack",
    "_pop_torch_function_stack",
    "_push_on_torch_function_stack",
    "is_traceable_wrapper_subclass_type",
    "never_compiled",
    "uncompiled",
]
