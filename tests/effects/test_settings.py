"""Settings of the process: a program that leaves one changed is refused, and the setting is put back.

(These are no probes: eager would leave the settings changed for the tests that follow.)
"""

from __future__ import annotations

import gc
import locale
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
import torch

import dynamo_lite
from dynamo_lite.errors import GraphBreak
from dynamo_lite.tracing.vocabulary.process_state import SWITCHES, Switch

X = torch.ones(3)


def _other(value: Any) -> Any:
    """Another value of the same setting."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, list):
        return value[::-1]
    if isinstance(value, torch.dtype):
        return torch.float16 if value is not torch.float16 else torch.bfloat16
    if value in ("ieee", "tf32"):
        return "tf32" if value == "ieee" else "ieee"
    return "medium" if value == "highest" else "highest"


@pytest.mark.parametrize("switch", SWITCHES, ids=lambda switch: switch.name)
def test_each_switch_of_torchs_is_watched(switch: Switch) -> None:
    before = switch.read()
    wanted = torch.float64 if switch.name == "the default dtype" else _other(before)

    def program(x: torch.Tensor) -> torch.Tensor:
        switch.write(wanted)
        return x * 2

    try:
        with pytest.raises(GraphBreak) as caught:
            dynamo_lite.export(program, (X,))
        assert caught.value.id in ("global-state", "process-state")
        assert switch.read() == before
    finally:
        switch.write(before)


FLAGS: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "flash attention": (torch.backends.cuda.flash_sdp_enabled, torch.backends.cuda.enable_flash_sdp),
    "math attention": (torch.backends.cuda.math_sdp_enabled, torch.backends.cuda.enable_math_sdp),
    "cudnn.benchmark": (
        lambda: torch.backends.cudnn.benchmark,
        lambda value: setattr(torch.backends.cudnn, "benchmark", value),
    ),
    "cuda.matmul.allow_tf32": (
        lambda: torch.backends.cuda.matmul.allow_tf32,
        lambda value: setattr(torch.backends.cuda.matmul, "allow_tf32", value),
    ),
    "the recursion limit": (sys.getrecursionlimit, sys.setrecursionlimit),
    "the garbage collector": (gc.isenabled, lambda value: gc.enable() if value else gc.disable()),
    "number formats": (
        lambda: torch._tensor_str.PRINT_OPTS.precision,
        lambda value: torch.set_printoptions(precision=value),
    ),
    "the locale": (
        lambda: locale.setlocale(locale.LC_NUMERIC),
        lambda value: locale.setlocale(locale.LC_NUMERIC, "C" if value == "highest" else value),
    ),
}


@pytest.mark.parametrize("name", FLAGS)
def test_flags_set_by_functions_and_by_attributes(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # torch.testing._internal, which other tests import, forbids setting flags for the rest of the process. The switch
    # is a global of the functions' module; torch.backends in sys.modules is an object with properties in its place.
    monkeypatch.setitem(torch.backends.flags_frozen.__globals__, "__allow_nonbracketed_mutation_flag", True)
    read, write = FLAGS[name]
    before = read()
    wanted = _other(before)

    def program(x: torch.Tensor) -> torch.Tensor:
        write(wanted)
        return x * 2

    try:
        with pytest.raises(GraphBreak):
            dynamo_lite.export(program, (X,))
        assert read() == before
    finally:
        if read() != before:
            write(before)


_BACKENDS = ("torch.backends", *(f"torch.backends.{one}" for one in ("cuda.matmul", "cudnn.conv", "mkldnn.matmul")))


@pytest.mark.parametrize("owner", _BACKENDS)
def test_a_precision_under_its_newer_name(owner: str) -> None:
    """torch's older names raise a RuntimeError then. In a process of its own, since that cannot be put back."""
    program = f"""
import torch, dynamo_lite
{owner}.fp32_precision = "tf32"
x = torch.ones(2, 2)
assert torch.equal(dynamo_lite.export(torch.nn.ReLU(), (x,)).module()(x), x) and {owner}.fp32_precision == "tf32"

def forward(x):
    {owner}.fp32_precision = "ieee"
    return x + 1

try:
    dynamo_lite.export(forward, (x,))
except dynamo_lite.GraphBreak as error:
    print(error.id, {owner}.fp32_precision)
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", program], check=True, capture_output=True, text=True)
    assert done.stdout.split()[1] == "tf32" and done.stdout.split()[0] in ("global-state", "process-state")


def test_a_switch_that_is_put_back_is_no_effect() -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
            y = x * 2
        with torch.backends.cudnn.flags(enabled=False):
            return y + 1

    torch.testing.assert_close(dynamo_lite.export(program, (X,)).module()(X), X * 2 + 1)
