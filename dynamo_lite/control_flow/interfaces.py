"""The forking tracer and a branch as the parts of this package see them: protocols, so that none of them imports
tracer.py or branch.py."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn, Protocol

from dynamo_lite.control_flow.path_counter import PathCounter
from dynamo_lite.control_flow.states import Base, BeginsAgain, CannotMerge, Join, OpenLoop
from dynamo_lite.control_flow.undoing.new_objects import Points
from dynamo_lite.interpreter.flow import FlowGraph
from dynamo_lite.symbolic_shapes.proofs.facts import Origin
from dynamo_lite.tracing.heap.journal import Journal
from dynamo_lite.tracing.interfaces import TracerView
from dynamo_lite.tracing.vocabulary.program_points import Mark


class Forking(TracerView, Protocol):
    """tracer.ForkingTracer.

    Attributes:
        loops: the loops whose bodies are being captured, innermost last.
        asserted: the last branch of which one side raises: its location, and the error.
        raised_on_both: the errors of branches both sides of which raise: the first one, and the texts of both.
        path_counter: counts how often sides have been run (path_counter.py).
        depth: the nesting depth of the sides that are being run.
        watches: the iterators that each of these sides may use (iterators.py).
        moved: iterators without copies that a side, undone since, has advanced.
        journals: the journals of the states around the current side.
        known: tensors whose truth is known on the current side, unless they are changed in place since.
        chosen: the values of integers that branches choose among constants (predicates.py).
        predicates: the values that decide branches, as tensors and symbolic bools (predicates.py).
        layouts_differ: whether the strides of a result depend on the side (layouts.py).
        makes_lists: whether lists and items of varying length are captured.
        made_list: whether there has been a list of varying length (lists/varying.py).
        bases: the states in which the current sides and iterations began, innermost last.
        points: when each of these began, and each current side (new_objects.py).
        joins: the joins to which the current sides run, innermost last.
        merged_at: where branches were merged, the last time that their sides were run (branches/joins.py).
        unrolled: why a loop whose end depends on data is unrolled, "" if none is.
        caught: an internal exception that a handler of the program has caught.
        branches: the outcome of each branch, for `trace.notes` (notes.py).
        sorts: the calls that sort by what data decide (branches/sorting.py).
        of_sizes: how many branches on sizes are captured.
        left_to_example: the branches on sizes that are not captured: (code, instruction).
        unrolls_for_gradients: whether loops that have no gradient as operators are unrolled, if they terminate.
        has_lost_gradients: whether there has been such a loop that was captured without its gradient.
    """

    loops: list[OpenLoop]
    asserted: tuple[Mark, str] | None
    raised_on_both: list[tuple[BaseException, str]]
    path_counter: PathCounter
    depth: int
    journals: list[Journal]
    watches: list[Any]
    moved: list[Any]
    known: list[tuple[Any, bool, int | None]]
    predicates: Any
    chosen: Any
    layouts_differ: bool
    makes_lists: bool
    made_list: bool
    unrolled: str
    bases: list[Base]
    points: Points
    joins: list[Join]
    merged_at: dict[Any, int]
    caught: BeginsAgain | None
    branches: Any
    sorts: frozenset[Any]
    of_sizes: int
    left_to_example: set[tuple[Any, int]]
    unrolls_for_gradients: bool
    has_lost_gradients: bool

    def origin(self) -> Origin: ...
    def known_truth(self, value: Any) -> bool | None: ...
    def noted(self) -> set[str]: ...
    def forget_notes(self, but: set[str]) -> None: ...
    def loop_of(self, frame: Any) -> OpenLoop | None: ...


class Forked(Protocol):
    """The part of branches.branch.Branch that the search for a join uses; the attributes are documented there."""

    tracer: Forking
    frame: Any
    at: int
    callees: Sequence[tuple[Any, int]]
    flow: FlowGraph
    around: OpenLoop | None
    choice: Callable[[Any, Any], Any] | None

    def first_join(self) -> int: ...
    def where(self) -> str: ...
    def refuse(self, problem: CannotMerge) -> NoReturn: ...
