"""Does a program equal eager? Values compared leaf by leaf, through containers that no registry needs to know."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from .registry import Inputs

EAGER_SEED = 1234
"""Seeds torch's generator before each run, so that dropout draws the same on both sides."""


def leaves(value: Any, path: str = "out") -> Iterator[tuple[str, Any]]:
    """Every tensor and atom in `value` with its path; other objects (a KV cache, say) are opened by their __dict__."""
    if isinstance(value, Tensor) or value is None or isinstance(value, (bool, int, float, complex, str, type)):
        yield path, value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from leaves(item, f"{path}[{key!r}]")
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from leaves(item, f"{path}[{index}]")
    else:
        state = vars(value) if hasattr(value, "__dict__") else {}
        if not state:
            yield path, repr(value)
        for name, item in state.items():
            yield from leaves(item, f"{path}.{name}")


def same_tensor(got: Tensor, want: Tensor, tolerance: float) -> str | None:
    """None if equal within `tolerance` (NaN equals NaN); else what differs."""
    if got.shape != want.shape or got.dtype != want.dtype:
        return f"is {got.dtype}{list(got.shape)}, eager has {want.dtype}{list(want.shape)}"
    got, want = got.detach(), want.detach()
    if torch.equal(got, want) or torch.allclose(got, want, rtol=tolerance, atol=tolerance, equal_nan=True):
        return None
    return f"differs from eager by up to {(got.double() - want.double()).abs().max().item():.3g}"


def difference(got: Any, want: Any, tolerance: float) -> str | None:
    """The first difference between two outputs in words, or None."""
    got_leaves, want_leaves = dict(leaves(got)), dict(leaves(want))
    if got_leaves.keys() != want_leaves.keys():
        return f"other structure: {sorted(got_leaves.keys() ^ want_leaves.keys())[:4]}"
    for path, expected in want_leaves.items():
        actual = got_leaves[path]
        if isinstance(expected, Tensor) and isinstance(actual, Tensor):
            problem = same_tensor(actual, expected, tolerance)
        else:
            problem = None if type(actual) is type(expected) and actual == expected else f"{actual!r} != {expected!r}"
        if problem:
            return f"{path} {problem}"
    return None


@dataclass(frozen=True)
class Run:
    """What one call gave: its output and the module's buffers after it."""

    output: Any
    buffers: dict[str, Tensor]


def run(module: Callable[..., Any], inputs: Inputs) -> Run:
    """Call `module` with a fixed torch seed; its buffers are read back if it is a Module."""
    torch.manual_seed(EAGER_SEED)
    with torch.no_grad():
        output = module(*inputs[0], **inputs[1])
    buffers = dict(module.named_buffers()) if isinstance(module, nn.Module) else {}
    return Run(output, {name: buffer.clone() for name, buffer in buffers.items()})


def disagreement(program: nn.Module, eager: nn.Module, inputs: Callable[[int], Inputs], seeds: tuple[int, ...],
                 tolerance: float) -> str | None:  # fmt: skip
    """Run both on `inputs(seed)` for each seed, one after the other; the first difference in words, or None.

    Buffers that both name are compared after each call (batch norm's statistics carry over from call to call).
    """
    for seed in seeds:
        want, got = run(eager, inputs(seed)), run(program, inputs(seed))
        problem = difference(got.output, want.output, tolerance)
        for name in want.buffers.keys() & got.buffers.keys():
            problem = problem or difference(got.buffers[name], want.buffers[name], tolerance)
        if problem:
            return f"seed {seed}: {problem}"
    return None


@contextmanager
def told_of_export() -> Iterator[None]:
    """Within, `torch.compiler.is_exporting()` and its like are true, as they are for a program that is exported."""
    flags = torch.compiler._is_compiling_flag, torch.compiler._is_exporting_flag
    torch.compiler._is_compiling_flag = torch.compiler._is_exporting_flag = True
    try:
        yield
    finally:
        torch.compiler._is_compiling_flag, torch.compiler._is_exporting_flag = flags
