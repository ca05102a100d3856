"""The tracer as rules and features see it: a protocol. tracer.py imports all of them; none of them imports it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from types import CodeType
from typing import Any, NoReturn, Protocol, TypeVar

from dynamo_lite.capture import Recorder
from dynamo_lite.errors import DynamoLiteError, GraphBreak, UserFrame
from dynamo_lite.interpreter import Interpreter
from dynamo_lite.program import FlatInputs
from dynamo_lite.symbolic_shapes import Origin
from dynamo_lite.tracing.heap.access_log import Reads
from dynamo_lite.tracing.heap.generations import Heap
from dynamo_lite.tracing.heap.journal import Journal
from dynamo_lite.tracing.vocabulary.module_stack import ModuleStack
from dynamo_lite.tracing.vocabulary.program_points import Mark

Step = Callable[["Trace", Any, tuple[Any, ...], dict[str, Any]], Any]
"""(tracer, fn, args, kwargs) → what stands for the call's result, or NOT_HANDLED to go on."""

Reader = Callable[["Trace", Any, str, Any], Any]
"""(tracer, owner, key, value) → what the program sees, or NOT_HANDLED to go on."""


AnyState = TypeVar("AnyState", bound="State")


class State:
    """What one feature keeps during a run: `Trace.own` makes it when it is first asked for."""

    def __init__(self, tracer: Trace) -> None: ...


class Trace(Protocol):
    """tracer.Tracer: one run of a program, watched."""

    vm: Interpreter
    recorder: Recorder
    inputs: FlatInputs
    root: Any
    heap: Heap
    journal: Journal
    reads: Reads
    writes: Any
    rules: dict[int, Any]
    plans: Any
    readers: dict[type, Reader | None]

    # -- what stops a trace, and what is told of it
    def refuse(self, id: str, **names: Any) -> NoReturn: ...
    def refusal(self, id: str, mark: Mark | None = None, **names: Any) -> GraphBreak: ...
    def refused(self, error: Any) -> DynamoLiteError: ...
    def abort(self, error: DynamoLiteError) -> NoReturn: ...
    def note(self, text: str) -> None: ...
    def unrecordable(self, name: str) -> Any: ...

    # -- where the program is
    def mark(self) -> Mark: ...
    def origin_of(self, mark: Mark) -> Origin: ...
    def where(self) -> tuple[UserFrame, ...]: ...
    def in_library(self) -> bool: ...
    def is_talking(self) -> bool: ...
    def drops_attributes(self) -> bool: ...
    def may_catch(self, kinds: frozenset[type[BaseException]]) -> bool: ...
    def outside(self) -> AbstractContextManager[None]: ...

    # -- the state of single features, which belongs to the feature's file
    def own(self, kind: type[AnyState]) -> AnyState: ...

    # -- questions that several features ask
    def inputs_are_one(self, left: int, right: int) -> bool: ...
    def written(self, owner: Any, part: str, key: Any) -> None: ...

    # -- what the run is in, and what it has found
    broken: Any
    call_serial: int
    calls: Any
    guards: list[str]
    interpreted: frozenset[CodeType]
    made_dicts: set[int]
    modules: ModuleStack
    sees_python: bool
    specializations: list[Any]
    torch_function: Any
