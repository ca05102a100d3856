"""The parameters of a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import CodeType
from typing import Any, Protocol

from torch import nn

from dynamo_lite.capture.comparison.fingerprint import Fingerprint
from dynamo_lite.capture.fakes.static_cache import Memory
from dynamo_lite.program import FlatInputs
from dynamo_lite.symbolic_shapes.proofs.facts import Fact
from dynamo_lite.tracing.effects.missing_parts import MissingPart
from dynamo_lite.tracing.tracer import Tracer


class Placed(Protocol):
    """A change of the user's objects for one run. `put_back` may be called before `place`, and more than once."""

    def place(self) -> None: ...
    def put_back(self) -> None: ...


def _nothing(run: Any) -> None:
    """The default: a run that begins is not reported."""


def _call(tracer: Any, program: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The default: the program is called once."""
    return tracer.vm.enter(program, args, kwargs)


@dataclass(frozen=True)
class RunRequest:
    """One call of one program, and how it is recorded.

    Attributes:
        mod, root: the callable, and the module whose parameters and buffers it has.
        inputs: its flat arguments.
        specs: dynamic_shapes in their plain form; None if each size is a constant.
        tracer: the kind of observer: strict, non-strict, or the lenient one of `explain`.
        drops: effects that a program cannot carry are dropped and noted.
        exact: results that differ from eager's in their identity are refused, not noted.
        memory: which cached results may be used: fewer, where those would not be exact.
        knows_copies: whether `contiguous()` may be recorded as a copy where the example's is the tensor itself.
        earlier: the recording of the run before this one, from whose state this one starts.
        known: facts that an earlier trace found about the sizes, if this one stores numbers in place of them
            (tracing/later_calls/persisted_sizes.py).
        interpreted: code that is interpreted although CPython might evaluate it (tracing/policy/native_modules.py).
        uncarried: why the backward of a Function is not part of the program (tracing/higher_order/backward.py).
        put_back: parts of registered containers in which the run gets the user's own value, which the registered
            functions lose (run/lost_state.py).
        started: is called with each run before it begins.
        equal: pairs of sizes that an earlier trace has found to be equal, as facts.
        without_gradients: why the program is called under torch.no_grad() only, if an earlier trace has found that.
            This one is made under it, too.
        held: tables that the module holds, in place of which the run finds shorter ones
            (tracing/later_calls/held_tables.py).
        prepared: state that the first call makes, and that this run finds (features/training/first_state.py).
        gradients: gradients that the run begins with (features/training/first_gradients.py).
        numbers: Python numbers that the run begins with as tensors (features/training/numbers.py).
        demanded: calls (code, instruction) that need numbers which data decide (control_flow/branches/demands.py).
        sorts: calls (code, instruction) that sort by what data decide (control_flow/branches/sorting.py).
        has_flags: branches return which tensors their results are (control_flow/differences/same_memory.py).
        carries_gradients: branches are joined where no result requires grad (control_flow/branches/joins.py).
        enter: calls the program, with the tracer, the program, its arguments and keyword arguments.
    """

    mod: Callable[..., Any]
    root: nn.Module | None
    inputs: FlatInputs
    specs: Any = None
    tracer: type[Tracer] = Tracer
    drops: bool = False
    exact: bool = False
    memory: Memory = Memory.ALL
    knows_copies: bool = True
    earlier: Fingerprint | None = None
    known: Sequence[Fact] | None = None
    interpreted: frozenset[CodeType] = frozenset()
    uncarried: Mapping[str, str] = field(default_factory=dict)
    put_back: tuple[MissingPart, ...] = ()
    started: Callable[[Any], None] = _nothing
    equal: Sequence[Fact] = ()
    without_gradients: tuple[str, ...] = ()
    held: Placed | None = None
    prepared: Placed | None = None
    gradients: Placed | None = None
    numbers: Placed | None = None
    demanded: frozenset[tuple[CodeType, int]] = frozenset()
    sorts: frozenset[tuple[CodeType, int]] = frozenset()
    has_flags: bool = False
    carries_gradients: bool = False
    enter: Callable[..., Any] = _call

    def placed(self) -> list[Placed]:
        """Values put into the user's objects before the run, and taken out after it."""
        return [part for part in (self.held, self.prepared, self.gradients, self.numbers) if part is not None]
