"""One exporter, one program, one verdict: the exported program against eager, call by call.

==================  ==================================================================================================
`equal`             each call is as eager's, by all that a caller can observe
`wrong`             the program answers a call, and the answer or what it leaves is not eager's
`refused`           the exporter raises
`rejected-call`     the program raises in a call where eager does not, or raises something else
`crash`             the process ends, by a signal or out of memory
`timeout`           no answer within the limit
==================  ==================================================================================================

The last two are given by the process above (host.py). `changed` has, apart from the verdict, the change that the
export itself has left in the user's objects, in globals or in the process. docs/soundness.md has the definition.
"""

from __future__ import annotations

import contextlib
import copy
import io
import logging
import random
import time
import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import nn

from dynamo_lite.lab.exporters import Exporter
from dynamo_lite.lab.observe import Observed, difference, fresh_arguments, observe, state_of
from dynamo_lite.lab.programs import Args, Example, LabProgram
from dynamo_lite.lab.snapshot import UserObjects

EQUAL, WRONG, REFUSED, REJECTED, CRASH, TIMEOUT = "equal", "wrong", "refused", "rejected-call", "crash", "timeout"
VERDICTS = (EQUAL, WRONG, REFUSED, REJECTED, CRASH, TIMEOUT)

CALLS = 3
"""The example and other data of the same shapes, before the calls of `Example.also`."""

WIDTH = 2000
"""The longest text of an answer, in characters."""


@dataclass
class LabAnswer:
    """A verdict with its reason. `call`: the index of the first call that was not right; `input`, `got` and `want`
    describe it. `changed`: what the export left changed."""

    id: str
    kind: str
    verdict: str
    text: str = ""
    call: int | None = None
    input: str = ""
    got: str = ""
    want: str = ""
    changed: str = ""
    seconds: float = 0.0

    def row(self) -> dict[str, Any]:
        """As data for a line of JSON: without what is empty."""
        return {key: value for key, value in asdict(self).items() if value not in ("", None)}


def judge(program: LabProgram, exporter: Exporter) -> LabAnswer:
    """Export a fresh program, run eager on another, and compare each call. What both print is not shown.

    Reads and changes torch's and Python's random states; for each program, a process of its own is best (host.py).
    """
    answer = LabAnswer(program.id, program.kind, EQUAL)
    start = time.perf_counter()
    with _quiet():
        exporter.reset()
        _judge(program, exporter, answer)
    answer.seconds = round(time.perf_counter() - start, 3)
    return answer


def _judge(program: LabProgram, exporter: Exporter, answer: LabAnswer) -> None:
    example = program.example()
    before = UserObjects([example.program, example.args, example.kwargs, program.globals()])
    calls = _calls(example)
    exported: Any = None
    try:
        exported = exporter.export(example.program, example.args, example.kwargs, example.dynamic_shapes)
    except Exception as error:
        answer.verdict, answer.text = CRASH if is_out_of_memory(error) else REFUSED, error_text(error)
    answer.changed = (before.changes() or "")[:WIDTH]
    if answer.verdict != EQUAL:
        return
    program.example()  # the globals that a program changes are again as it begins with
    owner = exported if isinstance(exported, nn.Module) else example.program
    got = _run(exported, owner, example, calls)
    if isinstance(got, str):
        answer.verdict, answer.text = REJECTED, got
        return
    late = getattr(exporter, "refuses_with", ())
    if late and isinstance(got[0].observed.raised, late):
        answer.verdict, answer.text = REFUSED, error_text(got[0].observed.raised)
        return
    _compare(answer, program, got)


@dataclass
class SeenCall:
    """One call: what was seen of it; the module's plain attributes and the random states after it."""

    arguments: str
    observed: Observed
    state_before: dict[str, torch.Tensor]
    attributes: dict[str, Any]
    random_state: tuple[Any, ...]


def _calls(example: Example) -> list[Args]:
    calls = [fresh_arguments((example.args, example.kwargs), seed, example.program) for seed in range(CALLS)]
    return calls + [fresh_arguments(args, 0, example.program) for args in example.also]


def _run(called: Any, owner: Any, example: Example, calls: list[Args]) -> list[SeenCall] | str:
    """All calls of an exported program; or why `after` failed on it."""
    if example.after is not None:
        try:
            example.after(owner)
        except Exception as error:
            return f"the change after the export raises {error_text(error)}"
    return [_call(called, owner, example, args, seed) for seed, args in enumerate(calls)]


def _call(called: Any, owner: Any, example: Example, args: Args, seed: int) -> SeenCall:
    text = described(args)
    before = {name: value.detach().clone() for name, value in state_of(owner).items()}
    with example.under():
        seen = observe(called, args, seed=seed, owner=owner, gradients=example.gradients)
    return SeenCall(text, seen, before, plain_attributes(example.program), process_randomness())


def _compare(answer: LabAnswer, program: LabProgram, got: list[SeenCall]) -> None:
    """Eager makes the calls that the program has answered. One that it has rejected is left out: eager begins again."""
    reference = _Reference(program)
    for index, mine in enumerate(got):
        theirs = reference.call(index)
        raised, expected = mine.observed.raised, theirs.observed.raised
        if raised is not None and type(raised) is not type(expected):
            if is_out_of_memory(raised):
                answer.verdict, answer.call, answer.text = CRASH, index, error_text(raised)
                return
            if answer.verdict == EQUAL:
                _describe(answer, REJECTED, index, f"raises {error_text(raised)}", mine, theirs)
            reference = reference.without(index)
        elif text := _difference(mine, theirs, reference.first):
            _describe(answer, WRONG, index, text, mine, theirs)
            return


class _Reference:
    """Eager on a fresh program. `accepted`: the indices of its calls."""

    def __init__(self, program: LabProgram, accepted: tuple[int, ...] = ()) -> None:
        self.program = program
        self.example = program.example()
        self.calls = _calls(self.example)
        if self.example.after is not None:
            self.example.after(self.example.program)
        self.first = plain_attributes(self.example.program)
        self.accepted: list[int] = []
        for index in accepted:
            self.call(index)

    def call(self, index: int) -> SeenCall:
        record = _call(self.example.program, self.example.program, self.example, self.calls[index], index)
        self.accepted.append(index)
        return record

    def without(self, index: int) -> _Reference:
        return _Reference(self.program, tuple(i for i in self.accepted if i != index))


def _describe(answer: LabAnswer, verdict: str, index: int, text: str, mine: SeenCall, theirs: SeenCall) -> None:
    answer.verdict, answer.call, answer.text = verdict, index, text[:WIDTH]
    answer.input, answer.got, answer.want = mine.arguments, outcome(mine.observed), outcome(theirs.observed)


def _difference(mine: SeenCall, theirs: SeenCall, first: dict[str, Any]) -> str | None:
    """The first difference of a call that both have answered. `first`: eager's attributes before all calls."""
    if text := difference(mine.observed, theirs.observed, theirs.state_before):
        return text
    for name, value in theirs.attributes.items():
        found = mine.attributes.get(name, "not there")
        if found != value and value != first.get(name, "not there"):
            return f"the attribute {name!r} of the module is then {found!r}, with eager {value!r}"
    for name, own, eagers in zip(("torch's", "Python's"), mine.random_state, theirs.random_state):
        if own != eagers:
            return f"{name} random state is then another than with eager"
    return None


def process_randomness() -> tuple[Any, ...]:
    """The states of torch's and of Python's generator."""
    return bytes(torch.get_rng_state().numpy().tobytes()), random.getstate()


def plain_attributes(program: Any) -> dict[str, Any]:
    """Path → a copy, for the attributes of a module and its submodules that are numbers, strings, None, or containers
    of those."""
    if not isinstance(program, nn.Module):
        return {}
    found = {}
    for path, module in program.named_modules():
        for name, value in vars(module).items():
            if not name.startswith("_") and name != "training" and _is_plain(value):
                found[f"{path}.{name}".lstrip(".")] = copy.copy(value)
    return found


_PLAIN_VALUES = (int, float, str, bool, type(None))


def _is_plain(value: Any) -> bool:
    if type(value) in (list, tuple, set):
        return all(type(item) in _PLAIN_VALUES for item in value)
    if type(value) is dict:
        return all(type(item) in _PLAIN_VALUES for row in value.items() for item in row)
    return type(value) in _PLAIN_VALUES


def is_out_of_memory(error: BaseException) -> bool:
    """Whether the limit on memory has been met: Python's error, or that of torch's allocator."""
    return isinstance(error, MemoryError) or "can't allocate memory" in str(error)


def error_text(error: BaseException) -> str:
    """An error as its class and text, cut."""
    return f"{type(error).__qualname__}: {error}"[:WIDTH]


def described(args: Args) -> str:
    """The arguments of a call as text, cut."""
    parts = [repr(value) for value in args[0]] + [f"{name}={value!r}" for name, value in args[1].items()]
    return ", ".join(parts)[:WIDTH]


def outcome(seen: Observed) -> str:
    """The result of a call: the exception, or the structure with its tensors; then the arguments and the state."""
    if seen.raised is not None:
        return f"raises {error_text(seen.raised)}"
    lines = [f"output {i}: {tensor}" for i, tensor in enumerate(seen.outputs)]
    lines += [f"argument {i} then: {tensor}" for i, tensor in enumerate(seen.inputs)]
    lines += [f"{name} then: {tensor}" for name, tensor in seen.state.items()]
    lines += [f"gradient of {name}: {tensor}" for name, tensor in seen.gradients.items()]
    return "\n".join([f"structure: {seen.output}", *lines])[:WIDTH]


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Without prints, warnings and logs."""
    disabled = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    silence = io.StringIO()
    try:
        with contextlib.redirect_stdout(silence), contextlib.redirect_stderr(silence), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(disabled)
