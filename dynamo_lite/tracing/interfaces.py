"""The tracer as rules and features see it: a protocol. tracer.py imports all of them; none of them imports it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from types import CodeType
from typing import Any, NoReturn, Protocol

from dynamo_lite.capture import Recorder
from dynamo_lite.errors import DynamoLiteError, GraphBreak
from dynamo_lite.interpreter import Interpreter
from dynamo_lite.program import FlatInputs
from dynamo_lite.tracing.feature_state import AnyState, FeatureState
from dynamo_lite.tracing.heap.access_log import Reads
from dynamo_lite.tracing.heap.generations import Heap
from dynamo_lite.tracing.heap.journal import Journal
from dynamo_lite.tracing.vocabulary.module_stack import ModuleStack
from dynamo_lite.tracing.vocabulary.program_points import Mark

Step = Callable[["TracerView", Any, tuple[Any, ...], dict[str, Any]], Any]
"""(tracer, fn, args, kwargs) → the call's result, or NOT_HANDLED to continue."""

Reader = Callable[["TracerView", Any, str, Any], Any]
"""(tracer, owner, key, value) → the value that the program sees, or NOT_HANDLED to continue."""


class NativeCall:
    """The last call of the program that runs natively.

    function: the callable; None when no such call is running
    serial: how many there were
    """

    def __init__(self) -> None:
        self.function: Any = None
        self.serial = 0


class Rejecting(Protocol):
    """The interface by which a feature stops the trace, or notes its assumptions (diagnostics.py)."""

    broken: Any
    drops: bool
    uncarried: Mapping[str, str]

    def refuse(self, id: str, **names: Any) -> NoReturn: ...
    def graph_break(self, id: str, mark: Mark | None = None, **names: Any) -> GraphBreak: ...
    def abort(self, error: DynamoLiteError) -> NoReturn: ...
    def note(self, text: str, mark: Mark | None = None) -> None: ...


class Position(Protocol):
    """Where the program is."""

    vm: Interpreter
    modules: ModuleStack
    native_call: NativeCall

    def mark(self) -> Mark: ...
    def in_library(self) -> bool: ...


class RunMemory(Protocol):
    """The program's reads, writes and new objects (tracing/heap)."""

    heap: Heap
    journal: Journal
    reads: Reads
    writes: Any
    made_dicts: set[int]

    def on_hidden_change(self, owner: Any, does: str = "") -> None:
        """Handle a call that may change state of `owner`, a new object, that no snapshot has (the text of a StringIO).
        does: a description of the effect, if "changes a StringIO" does not fit."""


class RuleTables(Protocol):
    """The tables of calls and reads in this run (calls/plans.py, read_plans.py)."""

    rules: dict[int, Any]
    plans: Any
    readers: dict[type, Reader | None]
    interpreted: frozenset[CodeType]


class TracerView(Rejecting, Position, RunMemory, RuleTables, Protocol):
    """tracer.Tracer: one run of a program, watched."""

    recorder: Recorder
    inputs: FlatInputs
    root: Any
    sees_python: bool
    features: Any
    """The features of this run (assemble.py)."""

    def own(self, kind: type[AnyState]) -> AnyState:
        """The state of one feature, which belongs to the feature's file."""

    def suspended(self) -> AbstractContextManager[None]: ...


__all__ = ["AnyState", "FeatureState", "NativeCall", "Reader", "Step", "TracerView"]
