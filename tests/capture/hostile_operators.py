"""Which operators raise for some data: each operator of torch's own list, called with data unlike its samples.

    python -m tests.capture.hostile_operators [first] [step]

prints one JSON row for each (operator, class): what torch raised, and whether `capture/kernels/data_errors.py` says so.
Each entry of the list runs in a process of its own: data like this ends some kernels.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import warnings
from collections.abc import Iterator
from itertools import product
from typing import Any

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils import _pytree as pytree

from dynamo_lite.capture._torch import OpOverload, enable_python_dispatcher
from dynamo_lite.capture.dispatch_modes import OperatorMode
from dynamo_lite.capture.kernels.data_errors import TABLE

FLOATS = {"zero": 0.0, "negative": -3.0, "large": 1e6, "nan": float("nan"), "infinite": float("inf"), "half": 2.5}
INTEGERS = {"zero": 0, "negative": -3, "large": 100, "nan": -(10**6), "infinite": 10**6, "half": 2}
SECONDS = 40
SAMPLES = 8


class Collecting(OperatorMode):
    """Keeps each operator with its arguments, and runs it."""

    def __init__(self) -> None:
        super().__init__(None)  # type: ignore[arg-type]
        self.calls: list[tuple[OpOverload, Any]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if isinstance(func, OpOverload):
            self.calls.append((func, pytree.tree_map(_copy, (args, kwargs))))
        return func(*args, **kwargs)


def _copy(value: Any) -> Any:
    return value.detach().clone() if isinstance(value, torch.Tensor) and value.layout is torch.strided else value


def _hostile(value: Any, kind: str) -> Any:
    if not isinstance(value, torch.Tensor) or value.layout is not torch.strided:
        return value
    made = torch.empty_like(value, memory_format=torch.contiguous_format)
    if value.dtype is torch.bool:
        return made.fill_(kind != "zero")
    if value.dtype.is_floating_point or value.dtype.is_complex:
        return made.fill_(FLOATS[kind])
    return made.fill_(INTEGERS[kind] if value.dtype.itemsize > 2 else abs(INTEGERS[kind]) % 128)


def _error(func: OpOverload, leaves: list[Any], spec: Any) -> Exception | None:
    args, kwargs = pytree.tree_unflatten([_copy(leaf) for leaf in leaves], spec)
    try:
        with torch.no_grad():
            func(*args, **kwargs)
    except Exception as error:
        return error
    return None


def _found(entry: Any) -> Iterator[tuple[str, str, bool]]:
    """(operator, class, whether the table says so) of what data alone makes an entry's operators raise."""
    for dtype in (torch.float32, torch.int64):
        samples = list(entry.sample_inputs("cpu", dtype))[:SAMPLES] if dtype in entry.supported_dtypes("cpu") else []
        for sample in samples:
            with enable_python_dispatcher(), Collecting() as mode:
                entry(sample.input, *sample.args, **sample.kwargs)
            for func, arguments in mode.calls:
                leaves, spec = pytree.tree_flatten(arguments)
                tensors = [i for i, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]
                name = func._overloadpacket._qualified_op_name
                if not 0 < len(tensors) < 7 or name in _OF_SIZES or _error(func, leaves, spec) is not None:
                    continue
                row = TABLE[name]
                args, kwargs = pytree.tree_unflatten(leaves, spec)
                kinds = row.kinds if row is not None and row.asks(args, kwargs) else frozenset()
                for kind, at in product(FLOATS, (*([i] for i in tensors), tensors)):
                    changed = [_hostile(leaf, kind) if i in at else leaf for i, leaf in enumerate(leaves)]
                    error = _error(func, changed, spec)
                    if error is not None:
                        yield str(func), type(error).__name__, bool(kinds & {type(error), BaseException})


_OF_SIZES = frozenset({"aten::narrow", "aten::item", "aten::_local_scalar_dense"})
"""What reads a number of a tensor: its program has a size of run time, and asserts what must hold of it."""


def main(first: int = 0, step: int = 1) -> None:
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    for entry in op_db[first::step]:
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            os.close(reading)
            signal.alarm(SECONDS)
            with os.fdopen(writing, "w") as file:
                try:
                    json.dump(sorted(set(_found(entry))), file)
                finally:
                    file.flush()
                    os._exit(0)
        os.close(writing)
        with os.fdopen(reading) as file:
            text = file.read()
        os.waitpid(child, 0)
        for row in json.loads(text or "[]"):
            print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
