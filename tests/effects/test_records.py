"""Effects as records (`trace(...).effects`), and `effects="drop"`."""

from __future__ import annotations

import collections
from typing import Any

import pytest
import torch
from torch import nn

import dynamo_lite
from dynamo_lite.errors import GraphBreak, InvalidArguments
from dynamo_lite.program.effect_record import Effect, Verdict

COUNT = 0
X = torch.arange(6.0).reshape(2, 3)


class Box:
    kind = 1

    def __init__(self) -> None:
        self.n = 1


class Writes(nn.Module):
    """`forward` is one statement."""

    def __init__(self, body: Any) -> None:
        super().__init__()
        self.body = body
        self.register_buffer("mean", torch.zeros(3))
        self.sub = nn.Linear(3, 3)
        self.count, self.box, self.table, self.items, self.scratch = 0, Box(), {"k": [1]}, collections.deque([1]), None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.body(self, x)
        return x * 2


def _global(self: Any, x: torch.Tensor) -> None:
    global COUNT
    COUNT += 1


def _scratch(self: Any, x: torch.Tensor) -> None:
    self.scratch = x
    self.scratch = None


def _make_variable() -> Any:
    n = 0

    def count(self: Any, x: torch.Tensor) -> None:
        nonlocal n
        n += 1

    return count


def _first_call(self: Any, x: torch.Tensor) -> None:
    if not hasattr(self, "memo"):
        self.memo = x.shape[1]


def _effects(body: Any, effects: str = "drop") -> list[Effect]:
    """The effects of one call of a module with that body."""
    program = dynamo_lite.export(Writes(body), (X.clone(),), effects=effects)
    found: list[Effect] = program.trace.effects  # type: ignore[attr-defined]
    return found


CASES: dict[str, tuple[Any, str, str, Verdict]] = {
    "attribute": (lambda s, x: setattr(s, "count", s.count + 1), "attribute", "self.count", Verdict.DROPPED),
    "object": (lambda s, x: setattr(s.box, "n", s.box.n + 1), "attribute", "self.box.n", Verdict.DROPPED),
    "vars": (lambda s, x: vars(s.box).update(n=s.box.n + 1), "item", "self.box.n", Verdict.DROPPED),
    "entry": (lambda s, x: s.table.update(j=len(s.table)), "item", "self.table['j']", Verdict.DROPPED),
    "list": (lambda s, x: s.table["k"].append(2), "item", "self.table['k']", Verdict.DROPPED),
    "deque": (lambda s, x: s.items.append(2), "item", "self.items", Verdict.DROPPED),
    "class": (lambda s, x: setattr(Box, "kind", Box.kind + 1), "class", "Box.kind", Verdict.DROPPED),
    "global": (_global, "global", "the global COUNT", Verdict.DROPPED),
    "variable": (_make_variable(), "variable", "a variable of an enclosing function", Verdict.DROPPED),
    "submodule": (lambda s, x: s.sub.train(not s.sub.training), "attribute", "self.sub.training", Verdict.DROPPED),
    "buffer": (lambda s, x: setattr(s, "mean", s.mean + x[0]), "buffer", "self.mean", Verdict.CARRIED),
    "buffer in place": (lambda s, x: s.mean.add_(1), "buffer", "self.mean", Verdict.CARRIED),
    "input": (lambda s, x: x.add_(1), "input", "x", Verdict.CARRIED),
    "view of an input": (lambda s, x: x[0].add_(1), "input", "x", Verdict.CARRIED),
    "scratch": (_scratch, "attribute", "self.scratch", Verdict.INVISIBLE),
    "setting": (
        lambda s, x: torch.set_grad_enabled(not torch.is_grad_enabled()), "setting", "grad mode", Verdict.DROPPED,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("body", "kind", "target", "verdict"), CASES.values(), ids=CASES)
def test_each_effect_is_named(body: Any, kind: str, target: str, verdict: Verdict) -> None:
    found = _effects(body)
    if verdict is Verdict.INVISIBLE:
        assert found == []  # the value is as before: there is nothing to tell
        return
    (effect,) = found
    assert (effect.kind, effect.target, effect.verdict) == (kind, target, verdict)
    assert effect.line is None or __file__ in effect.line


def test_an_effect_tells_old_and_new() -> None:
    (effect,) = _effects(CASES["attribute"][0])
    assert (effect.old, effect.new) == ("0", "1") and "0 becomes 1 (dropped)" in str(effect)


def test_a_first_call_is_no_loss() -> None:
    (effect,) = _effects(_first_call, effects="refuse")
    assert effect.verdict is Verdict.FIRST_CALL and effect.target == "self.memo" and effect.new == "3"


@pytest.mark.parametrize("name", [name for name, row in CASES.items() if row[3] is Verdict.DROPPED])
def test_what_can_be_dropped_is_refused_otherwise(name: str) -> None:
    with pytest.raises(GraphBreak) as caught:
        _effects(CASES[name][0], effects="refuse")
    assert 'effects="drop"' in caught.value.instead


@pytest.mark.parametrize("name", CASES)
def test_the_heap_is_as_before(name: str) -> None:
    module, x = Writes(CASES[name][0]), X.clone()
    state = {k: v.clone() for k, v in module.state_dict().items()}
    kind, count = Box.kind, COUNT
    dynamo_lite.export(module, (x,), effects="drop")
    assert (module.count, module.box.n, module.table, module.items) == (0, 1, {"k": [1]}, collections.deque([1]))
    assert (Box.kind, COUNT, module.sub.training, torch.is_grad_enabled()) == (kind, count, True, True)
    assert torch.equal(x, X) and all(torch.equal(state[k], v) for k, v in module.state_dict().items())


def test_a_dropped_effect_is_noted() -> None:
    program = dynamo_lite.export(Writes(CASES["attribute"][0]), (X,), effects="drop")
    assert "self.count is changed; the program does not change it" in program.notes  # type: ignore[attr-defined]


def test_a_changed_argument_is_dropped_too() -> None:
    def body(x: torch.Tensor, seen: list[int]) -> torch.Tensor:
        seen.append(1)
        return x * 2

    with pytest.raises(GraphBreak):
        dynamo_lite.export(body, (X, [1]))
    program = dynamo_lite.export(body, (X, [1]), effects="drop")
    (effect,) = program.trace.effects  # type: ignore[attr-defined]
    assert effect.kind == "argument" and effect.verdict is Verdict.DROPPED


def test_other_words_are_refused() -> None:
    with pytest.raises(InvalidArguments):
        dynamo_lite.export(Writes(_scratch), (X,), effects="ignore")


class KeepsTheLast(nn.Module):
    """A method under a decorator of torch's that keeps settings in itself, and a number that a later call reads."""

    def __init__(self) -> None:
        super().__init__()
        self.last = 0

    @torch.autocast("cpu", enabled=False)
    def scaled(self, x: torch.Tensor) -> torch.Tensor:
        factor = 2 if x.shape[0] <= self.last else 3
        self.last = x.shape[0]
        return x * factor

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.scaled(x)


def test_the_error_names_a_change_of_the_program_rather_than_torchs() -> None:
    with pytest.raises(GraphBreak, match=r"changes self\.last from 0 to"):
        dynamo_lite.export(KeepsTheLast(), (X,))


class ReplacesAnItem(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.items = [1, 2]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.items[1] += 1
        return x + self.items[1]


def test_a_changed_list_is_named_by_its_item() -> None:
    with pytest.raises(GraphBreak, match=r"changes self\.items\[1\] from 2 to 3"):
        dynamo_lite.export(ReplacesAnItem(), (torch.ones(2),))
