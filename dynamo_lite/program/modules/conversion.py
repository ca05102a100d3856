"""`program.module().half()`, `.to(dtype)`, `.to(device)`: when the converted program does the same as eager converted.

Parameters and buffers follow, as in eager, and nothing else does: a tensor that is a plain attribute, or that the
program makes (`torch.ones(3)`), keeps its dtype and its device there as well. So the graph is right unchanged unless it
holds a result that would now differ: a dtype or a device among the arguments of an operator (`x.to(y.dtype)` and
`x.to(torch.float32)` give the same node), or a branch on a dtype that the program has read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import torch
from torch import fx, nn

from dynamo_lite.errors import UnsupportedConversion
from dynamo_lite.program.modules.questions import Questions

_DTYPE_GUARD = re.compile(r"L(\[[^\]]*\]|\.\w+)+\.dtype == (torch\.\w+)$")

Convert = Callable[[torch.Tensor], torch.Tensor]


def changed_dtypes(fn: Convert, dtypes: Iterable[torch.dtype]) -> dict[torch.dtype, torch.dtype]:
    """Which of the dtypes the function of `Module._apply` changes, and into what."""
    found = {dtype: fn(torch.empty(0, dtype=dtype)).dtype for dtype in dtypes}
    return {old: new for old, new in found.items() if old != new}


def changed_devices(fn: Convert, devices: Iterable[torch.device]) -> dict[torch.device, torch.device]:
    """The same for devices."""
    found = {device: fn(torch.empty(0, device=device)).device for device in devices}
    return {old: new for old, new in found.items() if old != new}


def tensors_of(module: nn.Module) -> list[torch.Tensor]:
    return [*module.parameters(), *module.buffers()]


def check_dtypes(module: fx.GraphModule, changed: Mapping[torch.dtype, torch.dtype], asked: Questions | None) -> None:
    """Raises UnsupportedConversion if the program would not be what eager does with converted parameters."""
    into = ", ".join(f"{old} to {new}" for old, new in changed.items())
    if asked is None:
        raise UnsupportedConversion(
            f"The program cannot be converted from {into}: it does not record which dtypes its Python code has read "
            f"(it was saved without dynamo_lite.save). {_INSTEAD}"
        )
    for node, value in _literals(module, torch.dtype):
        if value in changed:
            raise UnsupportedConversion(
                f"The program cannot be converted from {into}: {value} is an argument of {node.target}{_line(node)}, "
                f"and whether it would be another dtype in the converted model is not known. {_INSTEAD}"
            )
    if asked.dtypes:
        raise UnsupportedConversion(
            f"The program cannot be converted from {into}: its Python code has read the dtype of a tensor, and may "
            f"have taken another way with another one:\n  {asked.dtypes[0]}\n{_INSTEAD}"
        )


def check_devices(module: fx.GraphModule, changed: Mapping[torch.device, torch.device]) -> None:
    """Raises UnsupportedConversion if an operator of the program has a device as an argument that changes."""
    for node, value in _literals(module, torch.device):
        if any(value == old or (value.index is None and value.type == old.type) for old in changed):
            into = ", ".join(f"{old} to {new}" for old, new in changed.items())
            raise UnsupportedConversion(
                f"The program cannot be moved from {into}: {value} is an argument of {node.target}{_line(node)}. "
                "Move the program with torch.export.passes.move_to_device_pass(program, device), or the model before "
                "its export."
            )


_INSTEAD = (
    "Convert the model before its export (model.half()), or take program.module(check_dtypes=False), which converts "
    "as torch's modules do: parameters and buffers, whatever the graph contains."
)


def without_dtypes(guards: Iterable[str], changed: Mapping[torch.dtype, torch.dtype] | None) -> list[str]:
    """The guards of a program without those that demand a dtype that has changed. None: any dtype."""
    return [guard for guard in guards if not _demands(guard, changed)]


def _demands(guard: str, changed: Mapping[torch.dtype, torch.dtype] | None) -> bool:
    match = _DTYPE_GUARD.match(guard)
    return match is not None and (changed is None or match[2] in map(str, changed))


def _literals(module: fx.GraphModule, kind: type) -> Iterator[tuple[fx.Node, Any]]:
    """Arguments of a kind among the operators of a program and its sub-graphs."""
    for part in module.modules():
        for node in part.graph.nodes if isinstance(part, fx.GraphModule) else ():
            found: list[Any] = []
            _collect((node.args, node.kwargs), kind, found)
            yield from ((node, value) for value in found)


def _collect(value: Any, kind: type, found: list[Any]) -> None:
    if isinstance(value, kind):
        found.append(value)
    elif isinstance(value, dict):
        _collect([*value.values()], kind, found)
    elif isinstance(value, (list, tuple)):
        for part in value:
            _collect(part, kind, found)


def _line(node: fx.Node) -> str:
    """` (File "model.py", line 3, in forward ...)` of the last frame that the node knows."""
    frames = re.findall(r'File "[^"]*", line \d+, in \S+\n[^\n]*', str(node.meta.get("stack_trace") or ""))
    return f" ({re.sub(chr(10) + ' *', ': ', frames[-1])})" if frames else ""
