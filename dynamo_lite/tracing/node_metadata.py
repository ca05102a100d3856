"""A node's metadata about the program, read from the interpreter's stack when the operator runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import MethodDescriptorType, MethodWrapperType, WrapperDescriptorType
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from dynamo_lite import origin_names
from dynamo_lite.errors import DynamoLiteError, UserFrame
from dynamo_lite.torch_internals._torch_dispatch import DisableTorchFunction
from dynamo_lite.tracing.interfaces import TracerView
from dynamo_lite.tracing.sizes import item_equality
from dynamo_lite.tracing.vocabulary.exception_handlers import in_handler
from dynamo_lite.tracing.vocabulary.program_points import Mark, frames_at

if TYPE_CHECKING:
    from dynamo_lite.capture import CaptureError
    from dynamo_lite.capture.fakes.static_cache import Inexact
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING

from dynamo_lite.interpreter.code.handler_table import HANDLERS
from dynamo_lite.interpreter.datamodel.operators import PLAIN_BINARY, PLAIN_COMPARE, PLAIN_INPLACE

if TYPE_CHECKING:
    from dynamo_lite.interpreter.frames.frame import Frame
from torch import fx

from dynamo_lite.torch_internals._torch_fx import GENERATED_FILE, annotated_entries, node_at


class JudgesErrors(TracerView, Protocol):
    """A tracer that decides how errors are reported: the recorder's, and the program's own."""

    def refused(self, error: CaptureError) -> DynamoLiteError: ...
    def leaves_as(self, kinds: frozenset[type[BaseException]]) -> frozenset[type[BaseException]] | None: ...


class TraceContext:
    """capture.NodeContext on a tracer. has_state: whether a tensor that existed before the call may become state of the
    program; not where later calls put others in its place (later_calls/held_tables.py)."""

    def __init__(self, tracer: JudgesErrors, has_state: bool = True) -> None:
        self._tracer, self._has_state = tracer, has_state
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
            used = at_work(self._tracer.vm.frame)
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

    def annotations(self) -> dict[str, Any]:
        """Those of `torch.fx.traceback.annotate`, over those of the node that is exported again."""
        entries = annotated_entries()
        if not self._reexported.is_used:
            return entries
        return {**self._reexported.annotations(self._shown(self._tracer.vm.frame)), **entries}

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
        answer = self._tracer.features.answers.get("drawn")
        return None if answer is None else answer(self._tracer, func, args, kwargs)

    def keeps(self, tensor: Any) -> bool:
        return self._has_state and self._tracer.sees_python and not self._tracer.heap.new_among((tensor,))

    def note_state(self, name: str) -> None:
        text = f"a tensor that no module registers is changed in place: it is the buffer {name} of the program"
        self._tracer.note(text)

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


# Which of Python's operators the current instruction is: the source_fn_stack of `x + y`, as TorchDynamo has it.

Function = Callable[..., Any]

_BY_SYMBOL: dict[str, dict[str, Function]] = {
    "BINARY_OP": PLAIN_BINARY, "INPLACE_OP": PLAIN_INPLACE, "COMPARE_OP": PLAIN_COMPARE,
}  # fmt: skip
_ALONE: dict[str, Function] = {
    "UNARY_NEGATIVE": operator.neg,
    "UNARY_POSITIVE": operator.pos,
    "UNARY_INVERT": operator.invert,
    "BINARY_SUBSCR": operator.getitem,
    "BINARY_SLICE": operator.getitem,
    "STORE_SUBSCR": operator.setitem,
    "STORE_SLICE": operator.setitem,
    "LOAD_ATTR": getattr,
}
_NAMES: dict[Any, str] = {HANDLERS[name]: name for name in (*_BY_SYMBOL, *_ALONE)}


def at_work(frame: Frame | None) -> Function | None:
    """Return `operator.add` while `frame` runs `x + y`, `getattr` for `x.T`; None for other instructions."""
    if frame is None or frame.pc == 0:
        return None
    handler, argument = frame.info.ops[frame.pc - 1][:2]
    name = _NAMES.get(handler)
    if name is None:
        return None
    return _BY_SYMBOL[name].get(argument) if name in _BY_SYMBOL else _ALONE[name]


# The metadata of a graph module's own nodes, where the program that is exported is such a module (`ep.module()`).
#
# Its generated code has no information on the model that it was made of; its nodes have the lines and the modules of
# that model. An operator of the new program has them from the node whose line runs, as in torch.export.

Stack = dict[str, tuple[str, str]]


class ReexportedNodes:
    """The nodes for the frames of one trace."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], tuple[Any, fx.Node | None]] = {}  # by module and line; keeps the module

    def stack_trace(self, frame: Any) -> str | None:
        """Return the program's lines recorded in the current node of `frame`; None if it has none."""
        node = self._node(frame)
        text = node.meta.get("stack_trace") if node is not None else None
        return text if isinstance(text, str) and text else None

    def module_stack(self, frame: Any) -> Stack | None:
        """Which modules of the model the current node in `frame` is in."""
        node = self._node(frame)
        stack = node.meta.get("nn_module_stack") if node is not None else None
        return dict(stack) if isinstance(stack, dict) and stack and all(map(_is_final, stack.values())) else None

    @property
    def is_used(self) -> bool:
        """Whether a node is known, or was: `module_stack`, which each node asks for first, has looked for one."""
        return bool(self._known)

    def annotations(self, frame: Any) -> dict[str, Any]:
        """The user's entries of the current node in `frame`: a quantizer's, a partitioner's."""
        node = self._node(frame)
        custom = node.meta.get("custom") if node is not None else None
        return dict(custom) if isinstance(custom, dict) else {}

    def _node(self, frame: Any) -> fx.Node | None:
        """The node whose line `frame` runs, if that is generated code, and no other than such and torch called it."""
        if frame is None or not _is_generated(frame):
            return None
        caller = frame.back
        while caller is not None:
            if not _is_generated(caller) and not str(caller.globals.get("__name__")).startswith("torch."):
                return None
            caller = caller.back
        module = frame.f_locals().get("self")
        if not isinstance(module, fx.GraphModule):
            return None
        line = frame.lineno - frame.code.co_firstlineno + 1
        known = self._known.get((id(module), line))
        if known is None:
            known = self._known[id(module), line] = module, node_at(module, line)
        return known[1]


def _is_generated(frame: Any) -> bool:
    return frame.code.co_filename.startswith(GENERATED_FILE)


def _is_final(entry: Any) -> bool:
    return isinstance(entry, tuple) and len(entry) == 2 and all(isinstance(part, str) for part in entry)
