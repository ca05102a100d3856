"""The call itself: its structure, constants and tensors, torch's switches, sizes that vary."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.export import Dim
from torch.utils import _pytree as pytree

import dynamo_lite


class Program(nn.Module):
    def forward(self, x: Any, cfg: Any, *, scale: Any = 2) -> Any:
        return x * cfg["n"] + cfg["ys"][0] * scale


def call(**changes: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments, with changes by name."""
    parts: dict[str, Any] = {"x": torch.ones(2, 3), "y": torch.zeros(3), "n": 3, "scale": 5, **changes}
    cfg = {"n": parts["n"], "ys": parts.get("ys", [parts["y"]]), **parts.get("more", {})}
    return (parts["x"], cfg), {"scale": parts["scale"]}


BREAKS: dict[str, tuple[dict[str, Any], str]] = {
    "a constant": ({"n": 4}, "L['cfg']['n']"),
    "its type": ({"n": 3.0}, "L['cfg']['n']"),
    "a keyword": ({"scale": 6}, "L['scale']"),
    "a size": ({"x": torch.ones(4, 3)}, "L['x']"),
    "a dtype": ({"y": torch.zeros(3, dtype=torch.float64)}, "L['cfg']['ys'][0]"),
    "strides": ({"x": torch.ones(3, 2).t()}, "L['x']"),
    "requires_grad": ({"x": torch.ones(2, 3, requires_grad=True)}, "L['x']"),
    "a device": ({"y": torch.zeros(3, device="meta")}, "L['cfg']['ys'][0]"),
    "no tensor": ({"x": 1.0}, "L['x']"),
    "a longer list": ({"ys": [torch.zeros(3)] * 2}, "L['cfg']['ys']"),
    "a tuple": ({"ys": (torch.zeros(3),)}, "L['cfg']['ys']"),
    "a new key": ({"more": {"z": 1}}, "L['cfg']"),
}


@pytest.mark.parametrize("name", BREAKS)
def test_another_call_fails(name: str) -> None:
    mod, (args, kwargs) = Program(), call()
    found = dynamo_lite.trace(mod, args, kwargs)
    assert found.guards.check(mod, args, kwargs) is None
    changes, text = BREAKS[name]
    failure = found.guards.check(mod, *call(**changes))
    assert failure is not None and text in failure.guard.text


def test_the_form_of_the_call() -> None:
    mod, (args, kwargs) = Program(), call()
    found = dynamo_lite.trace(mod, args, kwargs)
    assert found.guards.failing(mod, args, {}) >= 0
    assert found.guards.failing(mod, args[:1], {**kwargs, "cfg": args[1]}) >= 0
    assert found.guards.failing(mod, *call(x=torch.rand(2, 3), y=torch.rand(3))) == -1


STATES: dict[str, Callable[[], Any]] = {
    "no_grad": torch.no_grad,
    "inference_mode": torch.inference_mode,
    "autocast": lambda: torch.autocast("cpu", dtype=torch.bfloat16),
    "default dtype": lambda: _set(torch.set_default_dtype, torch.float64, torch.float32),
    "default device": lambda: torch.device("meta"),
    "deterministic": lambda: _set(torch.use_deterministic_algorithms, True, False),
    "function mode": lambda: torch.overrides.TorchFunctionMode(),
    "global hook": lambda: _hook(),
}


@contextlib.contextmanager
def _set(setter: Callable[[Any], Any], now: Any, after: Any) -> Any:
    setter(now)
    try:
        yield
    finally:
        setter(after)


@contextlib.contextmanager
def _hook() -> Any:
    handle = nn.modules.module.register_module_forward_hook(lambda *args: None)
    try:
        yield
    finally:
        handle.remove()


@pytest.mark.parametrize("name", STATES)
def test_torchs_switches(name: str) -> None:
    mod, (args, kwargs) = Program(), call()
    found = dynamo_lite.trace(mod, args, kwargs)
    with STATES[name]():
        failure = found.guards.check(mod, args, kwargs)
    assert failure is not None and failure.guard.kind == "state", failure
    assert found.guards.check(mod, args, kwargs) is None


class Branches(nn.Module):
    def forward(self, x: Any, y: Any) -> Any:
        if x.shape[0] > 4:
            x = x * 2
        return x + y if x.is_contiguous() else x - y


def test_sizes_that_vary() -> None:
    """The check passes where the program is right, and the traced range is not narrower than the branch asks."""
    mod, example = Branches(), (torch.rand(8, 3), torch.rand(8, 3))
    free = {"x": {0: Dim.AUTO(min=2)}, "y": {0: Dim.AUTO(min=2)}}
    found = dynamo_lite.trace(mod, example, dynamic_shapes=free)
    for n in (2, 4, 5, 8, 33):
        for m in (n, n + 1):
            args = (torch.rand(n, 3), torch.rand(m, 3))
            passes = found.guards.check(mod, args) is None
            assert passes == (n > 4 and n == m)
            if passes:
                assert torch.equal(found.program.module()(*args), mod(*args))
    assert found.guards.check(mod, (torch.rand(3, 8).t(), torch.rand(8, 3))) is not None


def test_a_size_of_the_wrong_side_names_the_condition() -> None:
    mod, example = Branches(), (torch.rand(8, 3), torch.rand(8, 3))
    free = {"x": {0: Dim.AUTO(min=2)}, "y": {0: Dim.AUTO(min=2)}}
    found = dynamo_lite.trace(mod, example, dynamic_shapes=free)
    failure = found.guards.check(mod, (torch.rand(3, 3), torch.rand(3, 3)))
    assert failure is not None and "size()[0]" in failure.guard.text


@dataclasses.dataclass
class Cache:
    keys: list[torch.Tensor]
    limit: int = 7


pytree.register_dataclass(Cache)


def test_objects_among_the_arguments() -> None:
    def step(cache: Cache, pair: Any) -> Any:
        return cache.keys[0] * pair.a + cache.limit

    pair_of = collections.namedtuple("Pair", "a b")

    def arguments(limit: int = 7, size: int = 3) -> tuple[Any, ...]:
        return Cache([torch.ones(size)], limit), pair_of(torch.ones(3), torch.ones(2))

    found = dynamo_lite.trace(step, arguments())
    assert found.guards.check(step, arguments()) is None
    limit = found.guards.check(step, arguments(limit=8))
    assert limit is not None and "limit" in limit.guard.text
    assert found.guards.failing(step, arguments(size=4)) >= 0


def test_one_tensor_twice_is_a_condition_only_where_it_matters() -> None:
    def asks(x: Any, y: Any) -> Any:
        return x if x is y else x + y

    def plain(x: Any, y: Any) -> Any:
        return x + y

    x, y = torch.ones(2), torch.ones(2)
    assert dynamo_lite.trace(asks, (x, y)).guards.check(asks, (x, x)) is not None
    assert dynamo_lite.trace(plain, (x, y)).guards.check(plain, (x, x)) is None


def test_a_trace_is_not_copied_or_pickled_with_the_program(tmp_path: Any) -> None:
    import copy

    found = dynamo_lite.trace(Program(), *call())
    assert found.program.trace is found  # type: ignore[attr-defined]
    assert copy.deepcopy(found.program).trace is found  # type: ignore[attr-defined]
    torch.export.save(found.program, tmp_path / "program.pt2")
    loaded = torch.export.load(tmp_path / "program.pt2")
    args, kwargs = call()
    assert torch.equal(loaded.module()(*args, **kwargs), Program()(*args, **kwargs))
