"""Effects that a later call may see: a second trace, from the state after the first, decides on them.

The induction: the first trace gives the program for the state that the user hands over. The second one gives it for the
state that the first leaves. If both record the same program, and the second leaves the state as it was, each later call
computes the same. Where the state holds sizes and tensors of the first call, the second trace takes them for what they
are in any call: tracing/later_calls, capture/comparison/replayed_constants.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dynamo_lite.capture.comparison.fingerprint import Fingerprint
from dynamo_lite.errors import GraphBreak, InternalError
from dynamo_lite.program.effect_record import Verdict
from dynamo_lite.run import growing_tables
from dynamo_lite.run.run import Run, traced
from dynamo_lite.tracing.assumptions.input_guards import InputGuards
from dynamo_lite.tracing.effects import descriptions
from dynamo_lite.tracing.effects.rebuilt_containers import is_made_alike
from dynamo_lite.tracing.heap.journal import Change
from dynamo_lite.tracing.later_calls import kept_tables, persisted_sizes, persisted_tensors
from dynamo_lite.tracing.later_calls.free_sizes import Cases, FreeSizes
from dynamo_lite.tracing.later_calls.held_tables import HeldTables
from dynamo_lite.tracing.later_calls.kept_tables import KeptTables
from dynamo_lite.tracing.vocabulary.program_points import is_in_torch


def settle_effects(run: Run) -> None:
    """Decide on the pending effects, while the heap is as the run left it. Raises a GraphBreak."""
    pending, dropped = run.effects.pending, run.request.drops
    prints = None
    if pending and run.request.drops:
        for change in pending:
            target = descriptions.describe_target(run.tracer, change)
            run.tracer.note(f"{target} is changed; the program does not change it")
    elif pending:
        prints = _retrace_or_pass(run)
        dropped = prints is None
    if isinstance(run.request.held, HeldTables):
        growing_tables.settle_tables(run, run.request.held, prints is not None)
    verdict = Verdict.DROPPED if dropped else Verdict.FIRST_CALL
    rests_on = None if prints is None else lambda change: persisted_tensors.rests_on(change, prints)
    run.records = [*descriptions.records(run.tracer, run.effects, verdict, rests_on), *run.lost]


def _retrace_or_pass(run: Run) -> Fingerprint | None:
    """Decide on the pending effects by a second trace. None if it fails, and the tracer lets that pass."""
    try:
        return retrace(run)
    except GraphBreak:
        targets = [descriptions.describe_target(run.tracer, change) for change in run.effects.pending]
        passed = [run.tracer.lets_pass(f"{target} is changed; the program does not change it") for target in targets]
        if not all(passed):
            raise
        return None


def retrace(first: Run) -> Fingerprint:
    """Trace again from the state after the first trace: a one-time initialisation does not happen again.

    Raises the GraphBreak of a pending effect if a second trace changes anything that counts, or gives another program;
    Kept if constants in the place of sizes may help.
    """
    if first.request.known is not None:
        first.effects.pending = persisted_sizes.fix(first.tracer, first.effects.pending)
    prints = first.fingerprint()
    sizes = persisted_sizes.sizes_in(first.effects.pending)  # before others stand in their places
    try:
        _retrace(first, prints)
    except GraphBreak as error:
        first.tracer.features.tell("differs", first, error)
        facts = persisted_sizes.facts_of(first.tracer, sizes) if first.request.known is None else None
        if facts is None:
            raise
        raise persisted_sizes.PersistedFacts(facts) from error
    persisted_tensors.note(first.tracer, first.effects.pending, prints, first.request.held is not None)
    return prints


Free = FreeSizes | KeptTables


class _Differs(Exception):
    """A second trace is not as the first."""


def _retrace(first: Run, prints: Fingerprint) -> None:
    pending = first.effects.pending
    refused = persisted_tensors.first_refused(first.tracer, pending, prints)
    if not pending:
        return
    change, reason = refused or (_told(pending), None)
    try:
        persisted_tensors.check_shared(pending, prints)
        _covered(first, prints)
    except InternalError:
        raise  # a bug of ours, not an effect of the program
    except Exception as error:
        raise descriptions.error(first.tracer, change, reason) from error


def _covered(first: Run, prints: Fingerprint) -> None:
    """Trace again from each state that an earlier call may leave. Raises an exception if one differs."""
    pending = first.effects.pending
    left = [*pending, *first.effects.dropped]
    if not kept_tables.has_tables(pending, prints):
        try:
            return _each_case(first, prints, FreeSizes(first.tracer, pending))
        except InternalError:
            raise
        except Exception:
            if not kept_tables.has_tables(left, prints):
                raise
    _each_case(first, prints, KeptTables(first.tracer, left, prints))


def _each_case(first: Run, prints: Fingerprint, free: Free) -> None:
    if not free.fits:
        raise _Differs
    cases, env = Cases(free.hints()), first.recorder.env
    before = None if env is None else env.core.snapshot()
    try:
        for hints in cases:
            try:
                _again(first, prints, free, cases, hints)
            finally:
                free.put_back()
    except BaseException:
        if env is not None and before is not None:
            env.core.rollback(before)  # what a second trace that differs asks is nothing that the program rests on
        raise


def _told(pending: Sequence[Change]) -> Change:
    """The change that an error names: the first that the program itself makes, else (`autocast` as a decorator keeps
    the settings on entry in itself) torch's."""
    return next((change for change in pending if not is_in_torch(change.mark)), pending[0])


def _again(first: Run, prints: Fingerprint, free: Free, cases: Cases, hints: Sequence[int]) -> None:
    """One trace from the state after the first. Raises an exception if it differs from it."""

    def started(run: Run) -> None:
        if run.recorder.env is not None and first.recorder.env is not None:
            guards = [fact for fact in first.recorder.env.core.facts if fact.kind == "guard"]
            persisted_sizes.assume(run.recorder.env, guards)  # what the program asks of its inputs holds in every call
            free.place(run.recorder, hints)
        free.hide()

    request = replace(first.request, memory=first.recorder.memory, earlier=prints, drops=False)
    request = replace(request, started=started, held=None, prepared=None)
    with traced(request) as second:
        again = second.fingerprint(free.earlier(first.fingerprint, prints))
        same = prints.program(first.outputs.values) == again.program(second.outputs.values)
        same &= first.outputs.spec == second.outputs.spec and not again.changes_carried()
        if not same or any(not _is_none(second, change, free) for change in second.effects.pending):
            raise _Differs
        if not free.are_settled(again):
            raise _Differs
        first.tracer.features.tell("later", first, second.tracer)
        if free.were_read(second.tracer):
            raise _Differs
        _merge(first, second, free, cases)


def _is_none(second: Run, change: Change, free: Free) -> bool:
    """Whether a change of the second trace has no effect from then on."""
    env = second.recorder.env
    if free and env is not None and free.leaves_other(change, env):
        return True
    return is_made_alike(change, second.tracer)


def _merge(first: Run, second: Run, free: Free, cases: Cases) -> None:
    """Add the assumptions of the second trace to the program's."""
    for guard in second.tracer.own(InputGuards).texts:
        first.tracer.own(InputGuards).add(guard)
    first.recorder.layout.questions |= second.recorder.layout.questions
    env, ours = second.recorder.env, first.recorder.env
    if env is None or ours is None:
        return
    if any(fact.kind == "check" and free.about(fact.relation) for fact in env.core.facts):
        raise _Differs  # an assertion about a size that an earlier call left
    facts = [fact for fact in env.core.facts if fact.kind == "guard"]
    persisted_sizes.assume(ours, [fact for fact in facts if not free.about(fact.relation)])
    if free:
        values = {symbol: symbol.hint for symbol in env.core.symbols.values() if symbol.hint is not None}
        answers = [fact.relation for fact in facts if free.about(fact.relation)]
        if not cases.covered(answers, values, free.symbols):
            raise _Differs
