"""Branches on a size whose sides compute the same values: such a branch adds no guard to the program.

The example takes one side of `if n != p.shape[0]: p = p.expand(n, -1)` or `is_causal = n > 1 and mask is None`. The
other side is run as well, as far as it has no effect (effect_free.py), up to where the two meet. Their final states are
compared under the condition of each side: a size, a flag or a view that is the same there needs no guard. Two numbers
or flags that differ become one expression over the condition. Only if the sides differ in another respect, the
example's answer becomes a guard, or both sides are captured (control_flow/).

Whether a value is the same on a side is decided by the facts and the condition of that side, never by the example.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NoReturn

import torch

from dynamo_lite.interpreter.code.decode import PLAIN
from dynamo_lite.interpreter.code.sentinels import UNBOUND
from dynamo_lite.interpreter.flow import END, FlowGraph, flow_of
from dynamo_lite.interpreter.frames.exceptions import Abandon
from dynamo_lite.interpreter.frames.frame import RETURNED, RUNNING
from dynamo_lite.interpreter.observer import NOT_HANDLED
from dynamo_lite.symbolic_shapes import Origin
from dynamo_lite.symbolic_shapes.dims.specs import Auto
from dynamo_lite.symbolic_shapes.dims.symbols import DimTable
from dynamo_lite.symbolic_shapes.expressions.evaluation import evaluate
from dynamo_lite.symbolic_shapes.expressions.expr import Apply, Int, children, symbols_of
from dynamo_lite.symbolic_shapes.expressions.relations import Bool, Junction, Rel, not_
from dynamo_lite.tracing.findings import Compared, SizeBranches
from dynamo_lite.tracing.interfaces import FeatureState, TracerView
from dynamo_lite.tracing.size_branches.choice import BOOLS, FLOATS, INTS, ConditionalValue
from dynamo_lite.tracing.size_branches.effect_free import EffectFree, ViewsOnly, may_be_effect_free
from dynamo_lite.tracing.size_branches.equal_views import base_of_equal_view
from dynamo_lite.tracing.vocabulary.asserted_branches import raised_at
from dynamo_lite.tracing.vocabulary.exception_handlers import may_be_caught
from dynamo_lite.tracing.vocabulary.symbolic_numbers import SYMBOLIC
from dynamo_lite.tracing.vocabulary.type_tests import is_tensor

_CONSTANTS = frozenset(
    {str, bytes, type(None), torch.dtype, torch.device, torch.layout, torch.memory_format, type(...)}
)


_SHOWS_VARIABLES = frozenset({"locals", "vars", "dir", "eval", "exec", "_getframe"})
_LONGEST = 120
"""How many instructions a side may have in the function that jumps."""


class NotMergeable(Exception):
    """Two values that cannot be merged."""


class ComparedSides(FeatureState):
    """The branches on sizes of one run whose sides were compared.

    Attributes:
        record: the part that the trace reports.
        table: the sizes that vary; None where none does.
        forks: whether a branch whose sides differ is captured, where `is_wanted`, and not answered by the example.
        open: the runs of the example's sides that are not over, the outermost first.
    """

    stays = "it is what was found out about branches on sizes, on whichever side they are"

    def __init__(self, tracer: TracerView) -> None:
        self._tracer = tracer
        self.record = tracer.own(SizeBranches)
        self.table: DimTable | None = None
        self.forks = False
        self.open: list[ViewsOnly] = []

    def end_open(self) -> None:
        """End the open runs: a branch or a loop within one is about to be captured. The result for the branch around it
        must not be determined on one of the sides. Raises Abandon if that branch is captured itself."""
        for views in self.open:
            views.end()

    def attach(self, table: DimTable) -> None:
        """From here on the jumps of the program are looked at. Called for runs in which sizes vary."""
        vm = self._tracer.vm
        self.table = table
        if vm.on_branch is None:
            vm.on_branch = self.on_branch
        if vm.on_not is None:
            vm.on_not = self.on_not

    def on_not(self, value: Any) -> Any:
        """`not (n > 1)` stays a condition until something depends on it."""
        if type(value) is torch.SymBool and value.node.has_hint():
            return torch.sym_not(value)
        return NOT_HANDLED

    def on_branch(self, frame: Any, value: Any, jumps_if: bool, target: int, keeps: bool) -> Any:
        """As `Observer.on_branch`: None if both sides compute the same values, and the frame continues after them."""
        relation = self.undecided(value)
        if relation is None or self._tracer.recorder.lowering:
            return NOT_HANDLED
        at = frame.pc - 1
        starts = {jumps_if: target, not jumps_if: at + 1}
        answer = NOT_HANDLED
        if frame.info.kind == PLAIN:
            answer = _BothSides(self, frame, relation, starts, (jumps_if, value) if keeps else None).compare()
        env = self.env()
        if answer is NOT_HANDLED and not self.forks and env.memo.decide(relation) is None:
            self.note_left(relation)
        return answer

    def env(self) -> Any:
        """The shape environment of the recording, if it has one."""
        return self._tracer.recorder.env

    def note_left(self, relation: Bool) -> None:
        """The answer of the example to this condition becomes a guard."""
        if self.is_wanted(relation):
            self.record.left.append(relation)

    def is_wanted(self, relation: Bool) -> bool:
        """Whether calls may take the other side: some size of the condition was promised to vary, or the other side is
        one that no user who leaves sizes to `Dim.AUTO` expects to lose: that of a size of 1, or that of a condition
        such as `n % 4` or `n == 8`, after which the sizes that are left would not be a range."""
        if self.table is None:
            return False
        env = self.env()
        symbols = {s for s in symbols_of(env.core.simplify(relation)) if not s.unbacked}
        declared = set(self.table.symbols())
        if not symbols or not symbols <= declared:
            return False
        if any(not isinstance(self.table.spec_of(symbol), Auto) for symbol in symbols):
            return True
        truth, hints = env.hint_of(relation), {s: int(s.hint or 0) for s in symbols}
        if any(_truth(relation, {**hints, symbol: 1}) is (not truth) for symbol in symbols if symbol.lo <= 1):
            return True
        return _is_of_equations(not_(relation) if truth else relation) or any(
            _leaves_gaps(relation, hints, symbol) for symbol in symbols
        )

    def undecided(self, value: Any) -> Any:
        """The condition on sizes that the truth of `value` is, if the facts do not decide it, and the example does."""
        env = self.env()
        if env is None or type(value) not in SYMBOLIC or not value.node.has_hint():
            return None
        condition = value if type(value) is torch.SymBool else value != 0
        if type(condition) is not torch.SymBool or env.decide_node(condition.node) is not None:
            return None
        if self.table is None or not symbols_of(condition.node.core) <= set(self.table.symbols()):
            return None  # about a size that an earlier call left, or that a mark has made
        return env.unwrap(condition)


class _BothSides:
    """One jump: the example's side is `truth`."""

    def __init__(self, sides: ComparedSides, frame: Any, relation: Bool, starts: dict[bool, int], kept: Any) -> None:
        self.sides, self.frame, self.relation, self.starts, self.kept = sides, frame, relation, starts, kept
        self.tracer = sides._tracer
        self.env = env = sides.env()
        self.truth = bool(env.hint_of(relation))
        self.here = relation if self.truth else not_(relation)
        self.choice = ConditionalValue(self.env, self.here)
        self.forks = sides.forks and sides.is_wanted(relation)
        self.locals, self.stack = list(frame.locals), list(frame.stack)

    def compare(self) -> Any:
        """Return the result of `on_branch`."""
        frame, at = self.frame, self.frame.pc - 1
        flow = flow_of(frame.info)
        start, join = self.starts[self.truth], flow.join(at)
        if raised_at(frame, self.starts[not self.truth]) is not None and not may_be_caught(frame):
            origin = self.tracer.origin()  # type: ignore[attr-defined]
            self.env.assume_answer(self.here, replace(origin, eager_raises=True))
            return NOT_HANDLED
        if not self._may_be_compared(flow, at, join):
            return NOT_HANDLED
        origin = self.tracer.origin()  # type: ignore[attr-defined]
        stops = flow.places({flow.at(start), join} - {END})
        other = self._other_side(stops)
        if other is None:
            self._begin_again(at)
            return NOT_HANDLED
        self._begin(self.truth, start)
        guard = self._abandon if self.forks else partial(self._guard, origin, at)
        views = ViewsOnly(self.tracer, guard)
        self.sides.open.append(views)
        try:
            if other.pc is None or flow.at(other.pc) != flow.at(start):
                views.run(frame, flow.places({join} - {END}))
            answer = True if frame.state == RETURNED else None
            if not views.is_so:
                return answer
            if not self._joined(flow, other):
                guard()
                return answer
        except Abandon as abandoned:
            if abandoned.by is not self:
                raise  # a branch around this one
            self._begin_again(at)
            return NOT_HANDLED
        except BaseException:
            self._guard(origin, at)
            raise
        finally:
            self.sides.open.remove(views)
        table = self.sides.table
        in_words = str if table is None else table.in_words
        compared = Compared(in_words(self.relation), origin, tuple(self.choice.proved), self.env.core, in_words)
        self.sides.record.rows.setdefault((compared.condition, str(origin)), compared)
        return answer

    def _abandon(self) -> NoReturn:
        raise Abandon(self)

    def _guard(self, origin: Origin, at: int) -> None:
        """The example's answer becomes a guard, at the jump: the program may have gone on."""
        vm, frame = self.tracer.vm, self.frame
        now = vm.frame, frame.pc
        vm.frame, frame.pc = frame, at + 1
        try:
            self.sides.note_left(self.relation)
            self.env.assume_answer(self.here, origin)
        finally:
            vm.frame, frame.pc = now

    def _begin_again(self, at: int) -> None:
        """Put the frame back to the jump."""
        frame = self.frame
        frame.locals[:], frame.stack[:] = self.locals, self.stack
        frame.pc, frame.state, frame.result = at + 1, RUNNING, None

    def _begin(self, truth: bool, pc: int) -> None:
        """Put the frame to the beginning of a side."""
        frame = self.frame
        frame.locals[:], frame.stack[:] = self.locals, self.stack
        frame.pc, frame.state, frame.result = pc, RUNNING, None
        if self.kept is not None and truth is not self.kept[0]:
            frame.stack.pop()

    def _other_side(self, stops: set[int]) -> _Reached | None:
        """Return the final state of the side that the example does not take; None if it has an effect."""
        frame = self.frame
        self._begin(not self.truth, self.starts[not self.truth])
        if not EffectFree(self.tracer, self._holds_there).run(frame, stops):
            return None
        if frame.state == RETURNED:
            return _Reached(None, [], [], frame.result)
        return _Reached(frame.pc, list(frame.locals), list(frame.stack))

    def _may_be_compared(self, flow: FlowGraph, at: int, join: int) -> bool:
        """Whether both sides are short and, judging by their instructions, may have no effect."""
        if not _SHOWS_VARIABLES.isdisjoint(self.frame.code.co_names):
            return False  # a variable that is not used any more is seen, too
        ops, start = self.frame.info.ops, flow.at(self.starts[self.truth])
        mine = flow.reach(start, {join})
        theirs = flow.reach(flow.at(self.starts[not self.truth]), {join, start})
        if at in mine or at in theirs or len(theirs) > _LONGEST:  # a loop
            return False
        if not all(may_be_effect_free(ops[index]) for index in theirs):
            return False
        return start in flow.reach(flow.at(self.starts[not self.truth]), {join}) or (
            len(mine) <= _LONGEST and all(may_be_effect_free(ops[index]) for index in mine)
        )

    # -- what holds on a side

    def _holds_there(self, value: Any) -> bool | None:
        """The truth of a condition on the other side; None if it is not known."""
        if type(value) not in SYMBOLIC:
            return bool(value) if type(value) in _CHECKED else None
        condition = value if type(value) is torch.SymBool else value != 0
        if type(condition) is bool:
            return condition
        return self.choice.under(self.choice.opposite, self.env.unwrap(condition))

    # -- the states

    def _joined(self, flow: FlowGraph, other: _Reached) -> bool:
        """Make one state of the frame's and the other side's, in the frame; False if they differ."""
        frame = self.frame
        try:
            if frame.state == RETURNED or other.pc is None:
                if frame.state != RETURNED or other.pc is not None:
                    return False
                frame.result = self._one(frame.result, other.result)
                return True
            if flow.at(frame.pc) != flow.at(other.pc) or len(frame.stack) != len(other.stack):
                return False
            stack = [self._one(mine, theirs) for mine, theirs in zip(frame.stack, other.stack)]
            live = flow.live(flow.at(frame.pc))
            variables = [
                self._one(mine, theirs) if live >> index & 1 else mine
                for index, (mine, theirs) in enumerate(zip(frame.locals, other.locals))
            ]
        except NotMergeable:
            return False
        frame.stack[:], frame.locals[:] = stack, variables
        return True

    def _one(self, mine: Any, theirs: Any) -> Any:
        """One value that is `mine` on the example's side and `theirs` on the other. Raises Unlike."""
        if mine is theirs:
            return mine
        if mine is UNBOUND or theirs is UNBOUND:
            raise NotMergeable
        if any(type(mine) in types and type(theirs) in types for types in (BOOLS, INTS)):
            return self.choice.one(mine, theirs)
        if type(mine) in FLOATS and type(theirs) in FLOATS and not type(mine) is type(theirs) is float:
            return self.choice.one(mine, theirs)
        if type(mine) is type(theirs):
            if type(mine) is tuple and len(mine) == len(theirs):
                return tuple([self._one(a, b) for a, b in zip(mine, theirs)])
            if type(mine) in _CONSTANTS and mine == theirs:
                return mine
        if is_tensor(mine) and is_tensor(theirs):
            equal = partial(self.choice.are_equal, assumed=self.choice.opposite)
            is_contiguous = partial(self.choice.is_contiguous, assumed=self.choice.opposite)
            if base_of_equal_view(self.tracer.recorder, mine, theirs, equal, is_contiguous):
                return mine
        raise NotMergeable


def _truth(relation: Bool, values: dict[Any, int]) -> bool | None:
    try:
        return bool(evaluate(relation, values))
    except (ArithmeticError, ValueError, KeyError):
        return None


def _is_of_equations(relation: Bool) -> bool:
    """Whether it is several equations together: no size alone says how `x.shape == (4, 4)` leaves a gap."""
    equations = relation.args if isinstance(relation, Junction) and relation.kind == "and" else ()
    return bool(equations) and all(isinstance(part, Rel) and part.kind == "eq" for part in equations)


def _leaves_gaps(relation: Bool, hints: dict[Any, int], symbol: Any) -> bool:
    """Whether the sizes near the example's for which a relation holds, or those for which it does not, are no range.
    The other sizes are the example's."""
    reach = _LEAST_REACH + 2 * min(max(_divisors(relation), default=0), _GREATEST_DIVISOR)
    least, hint = max(0, symbol.lo), hints[symbol]
    changes, last = 0, None
    for size in range(int(max(least, hint - reach)), int(min(symbol.hi, hint + reach)) + 1):
        truth = _truth(relation, {**hints, symbol: size})
        if truth is None:
            continue
        changes += last is not None and truth is not last
        last = truth
        if changes > 1:
            return True
    return False


def _divisors(node: Any) -> Iterator[int]:
    """Yield the constants by which an expression divides."""
    if isinstance(node, Apply) and node.op == "floordiv" and isinstance(node.args[1], Int) and not node.args[1].terms:
        yield abs(node.args[1].const)
    for child in children(node):
        yield from _divisors(child)


_LEAST_REACH = 4
_GREATEST_DIVISOR = 1024
"""How far from the example's size `_leaves_gaps` looks."""


_CHECKED = frozenset({int, float, str, tuple, list, dict, bytes, type(None)})
"""Types whose truth no program's code decides."""


@dataclass
class _Reached:
    """The end of the other side (`pc`; None: the return of `result`), and the state of the frame there."""

    pc: int | None
    locals: list[Any]
    stack: list[Any]
    result: Any = None
