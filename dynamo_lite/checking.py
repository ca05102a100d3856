"""Differential replay: the program and the eager module side by side, and the first difference between them.

    report = dynamo_lite.check(program, module, args)
    print(report)            # the runs; the first difference, with the line that made the node
    assert report

Both run on copies: the module, its state and the arguments stay as they are. Each set of arguments is given to a fresh
copy of both, for several calls one after the other, since state shows from the second call on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from torch.export import ExportedProgram

from dynamo_lite.replay.compare import Difference, first_difference
from dynamo_lite.replay.inputs import Arguments, at_sizes, corners, example, fresh
from dynamo_lite.replay.pair import ModulePair
from dynamo_lite.replay.python_state import judge
from dynamo_lite.replay.seen import is_rejection

CALLS = 2
_SIZES = "sizes "


@dataclass
class Replay:
    """One set of arguments: its label, and the outcome.

    `outcome` is "equal", "raises alike" (both raised the same kind of exception), "rejected" (the program does not take
    these arguments) or "different". `noted` are the changes of Python state that only eager makes and the program's
    trace accounts for: text → how ("dropped", "invisible", "first call only").
    """

    label: str
    outcome: str
    difference: Difference | None = None
    noted: dict[str, str] = field(default_factory=dict)


@dataclass
class Report:
    """The runs of `check`. True if nothing differs; `difference` is the first difference, if any."""

    replays: list[Replay] = field(default_factory=list)

    def __bool__(self) -> bool:
        return self.difference is None

    @property
    def difference(self) -> Difference | None:
        """The first difference between the program and eager."""
        return next((replay.difference for replay in self.replays if replay.difference is not None), None)

    def __str__(self) -> str:
        lines = [f"{replay.label}: {replay.outcome}" for replay in self.replays]
        noted = {text: how for replay in self.replays for text, how in replay.noted.items()}
        if noted:
            lines += ["", "Python state that only eager changes, according to the trace:"]
            lines += [f"  {text} ({how})" for text, how in noted.items()]
        if self.difference is not None:
            lines += ["", str(self.difference)]
        return "\n".join(lines)


def check(
    program: ExportedProgram,
    mod: Callable[..., Any],
    args: tuple[Any, ...] = (),
    kwargs: dict[str, Any] | None = None,
    *,
    calls: int = CALLS,
    fresh_data: int = 2,
    sizes: int = 8,
    tolerance: float = 1e-5,
    seed: int = 0,
) -> Report:
    """Run `program` and `mod` on the example, on fresh data and at the corners of the sizes that the program admits.

    Args:
        program: the result of `export` for `mod`, `args` and `kwargs`.
        mod: the module or function that was exported. It and the arguments are copied first.
        calls: consecutive calls of each copy, which show whether state is carried on.
        fresh_data: further sets of arguments of the example's sizes.
        sizes: at most so many further sets of sizes; none if the program's sizes are constants.
        tolerance: the largest absolute and relative difference of floating-point values.
        seed: of torch's, Python's and numpy's generators, set before each call of either side.

    Compared are the outputs (structure, types, constants, tensors), the arguments after the call, the buffers and
    parameters, exceptions, and the reachable Python state: a change by an eager call (attributes, containers, closures,
    globals) is a difference, unless the program's trace records it as dropped, invisible, or set on the first call
    only; then it is in `noted`. Raises nothing for a difference: the report is false. Changes by eager outside of the
    copies are undone.
    """
    report = Report()
    for label, arguments in _sets(program, (args, kwargs or {}), fresh_data, sizes, seed):
        report.replays.append(_replay(label, program, mod, arguments, calls, tolerance, seed))
        if report.difference is not None:
            break
    return report


def _sets(
    program: ExportedProgram, call: Arguments, fresh_data: int, sizes: int, seed: int
) -> Iterator[tuple[str, Arguments]]:
    yield "the example", example(call)
    for number in range(1, fresh_data + 1):
        yield f"fresh data {number}", fresh(call, seed + number)
    for values in corners(program, call, sizes):
        made = at_sizes(program, call, values, seed)
        if made is not None:
            yield _SIZES + ", ".join(f"{name} = {value}" for name, value in values.items()), made


def _replay(
    label: str, program: ExportedProgram, mod: Any, arguments: Arguments, calls: int, tolerance: float, seed: int
) -> Replay:
    pair = ModulePair(program, mod, arguments)
    replay = Replay(label, "equal")
    try:
        for number in range(calls):
            eager, exported = pair.call(seed + number)
            refused = exported.raised is not None and is_rejection(exported.raised)
            if refused and label.startswith(_SIZES):  # the example, and other data of its sizes, must be taken
                assert exported.raised is not None
                return Replay(label, f"rejected ({_short(exported.raised)})")
            account_of = judge(program, number)
            accounts = ((str(change), account_of(change)) for change in eager.python)
            replay.noted |= {change: account for change, account in accounts if account is not None}
            where = f"{label}, call {number + 1}"
            replay.difference = first_difference(program, eager, exported, tolerance, where, account_of)
            if replay.difference is not None:
                replay.outcome = "different"
                break
            if eager.raised is not None:
                replay.outcome = f"raises alike ({type(eager.raised).__qualname__})"
    finally:
        pair.undo()
    return replay


def _short(error: BaseException) -> str:
    return str(error).strip().splitlines()[0][:160] if str(error).strip() else type(error).__qualname__
