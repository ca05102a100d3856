"""Judge one export of one probe: equal, refused, raises, or one of the answers that are never right.

`Verdict.kind` is one of

- "equal": the program equals eager in every call;
- a refusal's id: export raised a GraphBreak or another of the errors that it raises on purpose;
- "raises": eager raises on the example, and export raised the same;
- "wrong": the program runs and differs from eager;
- "fails": the program raises where eager does not;
- "internal": export raised something else.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import nn

from dynamo_lite.errors import DynamoLiteError, InternalError
from dynamo_lite.lab.observe import Observed, difference, fresh_arguments, observe, state_of
from dynamo_lite.lab.snapshot import UserObjects
from dynamo_lite.program.effect_record import Verdict as Verdicts

from .probe import Args, Case, Probe

CALLS = 3

Exporter = Callable[..., Callable[..., Any]]
"""(program, args, kwargs, dynamic_shapes=None) → the exported program as a callable (a Module with its state)."""


OF_DATA = frozenset({"data-dependent-branch", "data-dependent-value"})
"""The refusals of a decision on data that is not captured."""


def ours(program: Any, args: tuple[Any, ...], kwargs: dict[str, Any], **options: Any) -> Callable[..., Any]:
    """dynamo_lite.export."""
    import dynamo_lite

    exported = dynamo_lite.export(program, args, kwargs, **options)
    module = exported.module()
    module._notes = exported.notes
    kept = [effect for effect in exported.trace.effects if effect.verdict is Verdicts.FIRST_CALL]
    targets = {effect.target.removeprefix("self.") for effect in kept if effect.kind in ("buffer", "parameter")}
    module._set_once = _under_all_names(program, targets)  # a name that no program uses for a tensor of its own
    return module


def _under_all_names(program: Any, targets: set[str]) -> set[str]:
    """The paths of parameters and buffers, and those by which the same modules hold them elsewhere in the program."""
    if not isinstance(program, nn.Module):
        return targets
    paths: dict[int, list[str]] = {}
    for path, module in program.named_modules(remove_duplicate=False):
        paths.setdefault(id(module), []).append(path)
    by_path = {path: others for others in paths.values() for path in others}
    owners = {target: target.rpartition(".")[::2] for target in targets}
    others = {(path, leaf) for owner, leaf in owners.values() for path in by_path.get(owner, ())}
    return targets | {f"{path}.{leaf}".lstrip(".") for path, leaf in others}


def itself(
    program: Any, args: tuple[Any, ...], kwargs: dict[str, Any], dynamic_shapes: Any = None
) -> Callable[..., Any]:
    """The perfect exporter: eager. Every probe must find it equal, or the probe is wrong."""
    return program


@dataclass
class Verdict:
    """`changed` tells what export changed of the user's objects; `leaked` where it left FakeTensors in them."""

    kind: str
    text: str = ""
    error: BaseException | None = None
    changed: str | None = None
    leaked: str | None = None

    def complaint(self, probe: Probe) -> str | None:
        """What is not right about this verdict, in words, or None."""
        if self.changed:
            return f"export changed the user's objects: {self.changed}"
        if self.leaked:
            return f"FakeTensors are left in the user's objects: {self.leaked}"
        honest = probe.any_refusal and isinstance(self.error, DynamoLiteError)
        if self.kind in probe.allowed or honest:
            return None
        return f"{self.kind}, not {' or '.join(sorted(probe.allowed))}: {self.text}"


@dataclass
class Reference:
    """What eager does in each call, and its state before each."""

    arguments: list[Args]
    seen: list[Observed]
    before: list[dict[str, Any]]


def eager(case: Case) -> Reference:
    """Run eager on the example, on fresh data of the same shapes, and on `also`, one call after the other."""
    arguments = _arguments(case)
    seen, before = [], []
    for i, args in enumerate(arguments):
        before.append({name: value.detach().clone() for name, value in state_of(case.program).items()})
        seen.append(observe(case.program, args, seed=i, gradients=case.gradients))
        seen[i].replaced |= seen[i - 1].replaced  # what was ever replaced counts by its value from then on
    return Reference(arguments, seen, before)


def ours_without_capture(*call: Any, **options: Any) -> Callable[..., Any]:
    """dynamo_lite.export that refuses branches on data."""
    return ours(*call, control_flow="refuse", **options)


def judge(probe: Probe, export: Exporter | None = None, watch: bool = True) -> Verdict:
    """Export one fresh case, then run eager on another; compare. `watch` also takes the snapshots.

    The export comes first: what the first eager call leaves in the process hides faults of exports before it.

    A probe whose answer is the refusal of a decision on data asks for it (`complaint_where_captured` tries it without).
    """
    if export is None:
        export = ours_without_capture if probe.allowed & OF_DATA else ours
    case = probe.case()
    spare = _arguments(case)
    snapshot = UserObjects([case.program, case.args, case.kwargs, probe.globals()]) if watch else None
    verdict, program = _exported(case, export)
    if snapshot is not None:
        verdict.changed = snapshot.changes()
        if verdict.changed:  # else all that is reachable is what it was
            leaked = UserObjects([case.program, case.args, case.kwargs, probe.globals()]).fakes
            verdict.leaked = ", ".join(path for path in leaked if path not in snapshot.fakes) or None
    want = eager(probe.case())
    if verdict.kind == "internal" and type(verdict.error) is type(want.seen[0].raised):
        verdict.kind = "raises"
    if program is case.program:  # eager itself looks at the globals, which the calls above have changed
        case = probe.case()
        program, spare = case.program, _arguments(case)
    if program is not None:
        _compare(verdict, program, case, spare, want)
    return verdict


def _arguments(case: Case) -> list[Args]:
    """Those of each call: the example's, fresh data of the same shapes, and `also`."""
    arguments = [fresh_arguments((case.args, case.kwargs), seed, case.program) for seed in range(CALLS)]
    return arguments + [fresh_arguments(args, 0, case.program) for args in case.also]


def complaint_where_captured(probe: Probe) -> str | None:
    """What is not right where a probe that decides by data is exported by default, as `Verdict.complaint`.

    It may equal eager, or be refused for any reason. A result that eager returns as an input on one side is a tensor of
    its own, with a note.
    """
    made: list[Any] = []

    def export(*call: Any, **options: Any) -> Callable[..., Any]:
        made.append(ours(*call, **options))
        return made[-1]  # type: ignore[no-any-return]

    verdict = judge(probe, export)
    if verdict.changed or verdict.leaked:
        return verdict.complaint(probe)
    honest = isinstance(verdict.error, DynamoLiteError) and verdict.kind not in ("internal", "fails")
    alias = re.search(r"out\d+ (is|shares storage with) \w+ only with eager", verdict.text)
    noted = alias and made and any(str(note).startswith("output") for note in made[0]._notes)
    if verdict.kind in ("equal", "raises") or honest or noted:
        return None
    return f"{verdict.kind}: {verdict.text}"


def _exported(case: Case, export: Exporter) -> tuple[Verdict, Callable[..., Any] | None]:
    try:
        options = {} if case.dynamic_shapes is None else {"dynamic_shapes": case.dynamic_shapes}
        return Verdict("equal"), export(case.program, case.args, case.kwargs, **options)
    except InternalError as error:
        return Verdict("internal", str(error), error), None
    except DynamoLiteError as error:
        return Verdict(error.id, str(error), error), None
    except Exception as error:
        return Verdict("internal", f"{type(error).__qualname__}: {error}", error), None


def _compare(verdict: Verdict, program: Callable[..., Any], case: Case, arguments: list[Args], want: Reference) -> None:
    owner = program if isinstance(program, nn.Module) else case.program
    for i, args in enumerate(arguments):
        got = observe(program, args, seed=i, owner=owner, gradients=case.gradients)
        if got.raised is not None and want.seen[i].raised is None:
            if i >= CALLS:
                continue  # arguments of another kind than the example's may be rejected
            verdict.kind, verdict.error = "fails", got.raised
            verdict.text = f"in call {i}: {type(got.raised).__qualname__}: {got.raised}"
            return
        for name in {*case.kept, *getattr(program, "_set_once", ())}:  # on eager's first call only
            want.seen[i].state.pop(name, None)
        if text := difference(got, want.seen[i], want.before[i], not case.returned, case.raised_as):
            verdict.kind, verdict.text = "wrong", f"in call {i}, {text}"
            return
