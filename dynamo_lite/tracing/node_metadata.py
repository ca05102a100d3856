"""A node's metadata about the program, read from the interpreter's stack when the operator runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import MethodDescriptorType, MethodWrapperType, WrapperDescriptorType
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from dynamo_lite import origin_names
from dynamo_lite.errors import DynamoLiteError, UserFrame
from dynamo_lite.torch_internals._torch_dispatch import DisableTorchFunction
from dynamo_lite.tracing import operator_sources
from dynamo_lite.tracing.interfaces import TracerView
from dynamo_lite.tracing.reexported_nodes import ReexportedNodes
from dynamo_lite.tracing.sizes import item_equality
from dynamo_lite.tracing.vocabulary.exception_handlers import in_handler
from dynamo_lite.tracing.vocabulary.program_points import Mark, frames_at
from dynamo_lite.tracing.world import seeded_draws

if TYPE_CHECKING:
    from dynamo_lite.capture import CaptureError
    from dynamo_lite.capture.fakes.static_cache import Inexact


class JudgesErrors(TracerView, Protocol):
    """A tracer that decides how errors are reported: the recorder's, and the program's own."""

    def refused(self, error: CaptureError) -> DynamoLiteError: ...
    def leaves_as(self, kinds: frozenset[type[BaseException]]) -> frozenset[type[BaseException]] | None: ...


class TraceContext:
    """capture.NodeContext on a tracer."""

    def __init__(self, tracer: JudgesErrors) -> None:
        self._tracer = tracer
        self._texts: dict[tuple[int, int], str] = {}
        self._codes: list[Any] = []  # the texts are keyed by the code's id
        self._names: dict[tuple[str, int], str] = {}
        self._counts: dict[str, int] = {}
        self._operators = 0
        self._reexported = ReexportedNodes()

    def stack_trace(self) -> str | None:
        """The program's stack in the format of `traceback`, outermost first, with carets."""
        texts = []
        frame = self._tracer.vm.frame
        known = self._reexported.stack_trace(self._shown(frame))
        if known is not None:
            return known
        while frame is not None:
            text = self._texts.get((id(frame.code), frame.pc))
            texts.append(self._frame_text(frame) if text is None else text)
            frame = frame.back
        return "".join(reversed(texts))

    def _frame_text(self, frame: Any) -> str:
        at = frame.positions
        text = ""
        if _is_shown(frame):
            text = UserFrame(
                frame.code.co_filename,
                at.lineno or frame.code.co_firstlineno,
                frame.code.co_name,
                at.end_lineno,
                at.col_offset,
                at.end_col_offset,
            ).format()
        self._codes.append(frame.code)
        self._texts[id(frame.code), frame.pc] = text
        return text

    def module_stack(self) -> dict[str, tuple[str, str]]:
        """nn_module_stack in torch.export's final form."""
        known = self._reexported.module_stack(self._shown(self._tracer.vm.frame))
        return dict(self._tracer.modules.current) if known is None else known

    def _shown(self, frame: Any) -> Any:
        """The innermost frame that a stack trace shows."""
        while frame is not None and not _is_shown(frame):
            frame = frame.back
        return frame

    def source_fn_stack(self) -> list[tuple[str, Any]]:
        """Return [(name, callable)]: a module of torch.nn, else the torch function. The name is one per call."""
        leaf = self._tracer.modules.leaf
        if leaf is not None:
            return [(self._name(leaf.cls.__name__.lower(), leaf.serial), leaf.cls)]
        fn = self._tracer.native_call.function
        if fn is None and self._tracer.sees_python:
            used = operator_sources.at_work(self._tracer.vm.frame)
            if used is not None:  # an operator is one node nearly always; those of a slice count as several
                self._operators += 1
                return [(self._name(used.__name__.strip("_"), -(1 << 40) - self._operators), used)]
        name = getattr(fn, "__name__", None)
        if name is None:
            return []
        # torch saves no function without a module: functions of exec(), and __new__.
        has_module = isinstance(getattr(fn, "__module__", None), str)
        source = fn if has_module and type(fn) not in _METHODS else name  # TorchDynamo has methods of tensors by name
        return [(self._name(name, -self._tracer.native_call.serial), source)]

    def _name(self, base: str, serial: int) -> str:
        known = self._names.get((base, serial))
        if known is None:
            count = self._counts.get(base, 0)
            self._counts[base] = count + 1
            known = self._names[base, serial] = f"{base}_{count}" if count else base
        return known

    def mark(self) -> Mark:
        return self._tracer.mark()

    def torch_fn(self) -> tuple[str, str] | None:
        """None: the recorder sees the torch function itself."""
        return None

    @contextmanager
    def natively(self) -> Iterator[None]:
        """Nothing in here is interpreted."""
        trampolines = self._tracer.vm.trampolines
        was, trampolines.open = trampolines.open, False
        try:
            with DisableTorchFunction():
                yield
        finally:
            trampolines.open = was

    def refuse(self, error: CaptureError) -> NoReturn:
        """Turn an error of capture into a GraphBreak that the program cannot catch."""
        self._tracer.abort(self._tracer.refused(error))

    def restart(self, error: Inexact) -> NoReturn:
        """Stop the trace; the exporter makes it again."""
        self._tracer.abort(error)

    def may_raise(self, operator: str, kinds: frozenset[type[BaseException]]) -> None:
        """Refuses an operator that may raise by the data of its tensors where a handler of the program's may catch it:
        the exported program has no second way on. A handler that raises another class instead is noted."""
        leaving = self._tracer.leaves_as(kinds)
        if leaving is None:
            text = origin_names.users_expression(frames_at(self._tracer.mark()))
            self._tracer.refuse("caught-operator-error", operator=f"{text} ({operator})" if text else operator)
        others = sorted(kind.__name__ for kind in leaving - kinds - {BaseException})
        if others and BaseException not in kinds:
            self._tracer.note(
                f"{operator} raises an error for some data. The exported program raises the operator's own; a handler "
                f"of the program may raise {' or '.join(others)} instead."
            )

    def in_handler(self) -> bool:
        return self._tracer.sees_python and in_handler(self._tracer.vm.frame)

    def catches(self, kinds: frozenset[type[BaseException]]) -> bool:
        leaving = self._tracer.leaves_as(kinds)
        return leaving is None or leaving - {BaseException} != kinds

    def goes_on(self, kinds: frozenset[type[BaseException]]) -> bool:
        return self._tracer.leaves_as(kinds) is None

    def found_as_one(self, left: Any, right: Any) -> bool:
        return item_equality.found_as_one(self._tracer, left, right)

    def drawn(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        return seeded_draws.drawn(self._tracer, func, args, kwargs)

    def check_deferred(self, what: str, errors: frozenset[type[Exception]]) -> None:
        """The same for an operator's assertions on sizes known at run time only, and for `errors` of Python's own."""
        self.may_raise(what, errors or _OF_SIZES)


def _is_shown(frame: Any) -> bool:
    return not str(frame.globals.get("__name__")).startswith(_UNSHOWN)


_UNSHOWN = "torch._higher_order_ops"
"""torch.cond and friends in Python: the line that counts is the one that calls them."""
_OF_SIZES = frozenset({RuntimeError, IndexError, ValueError, AssertionError, ZeroDivisionError})
"""Exceptions that operators raise if sizes do not fit."""
_METHODS = frozenset({MethodDescriptorType, WrapperDescriptorType, MethodWrapperType})
