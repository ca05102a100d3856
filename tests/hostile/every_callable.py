"""Calls every public function of torch, and every method of Tensor, with stand-ins inside of an export.

    python -m tests.hostile.every_callable [first] [step]

prints a JSON row (name, arguments, what happened) for each call that is not right: the process ended, an internal
error, a change of the user's tensors or of the process. A call runs in a process forked for a batch of callables; when
one ends, another goes on behind the callable that ended it.

Seen in full (1,791 callables, twelve pieces) with torch 2.13.0 and CPython 3.11: no row. What it found last,
`torch.PyTorchFileWriter(tensor)`, which ends the process in eager too, is refused before it runs.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import nn

import dynamo_lite
from dynamo_lite.errors import InternalError

BATCH = 40
SECONDS = 60
"""For one callable with all its arguments."""

ARGUMENTS: dict[str, Callable[[Any, Any], tuple[Any, ...]]] = {
    "w": lambda w, x: (w,),
    "x": lambda w, x: (x,),
    "w, x": lambda w, x: (w, x),
    "x, w": lambda w, x: (x, w),
    "w, 1": lambda w, x: (w, 1),
    "w, function": lambda w, x: (w, abs),
    "w, x, function": lambda w, x: (w, x, max),
    "[w, x]": lambda w, x: ([w, x],),
    "w, 0, index": lambda w, x: (w, 0, torch.tensor([0, 1])),
    "w, x, w": lambda w, x: (w, x, w),
    "nothing": lambda w, x: (),
}


class Model(nn.Module):
    def __init__(self, fn: Any, arguments: Callable[[Any, Any], tuple[Any, ...]]) -> None:
        super().__init__()
        self.register_buffer("w", torch.arange(9.0).reshape(3, 3) + 1)
        self.fn, self.arguments = fn, arguments

    def forward(self, x: torch.Tensor) -> Any:
        result = self.fn(*self.arguments(self.w, x))
        return result if isinstance(result, torch.Tensor) else x + 1


def callables() -> list[tuple[str, Any]]:
    """The public functions and methods, by name."""
    owners = {"torch": torch, "Tensor": torch.Tensor, "functional": torch.nn.functional, "linalg": torch.linalg,
              "fft": torch.fft, "special": torch.special}  # fmt: skip
    found = {}
    for prefix, owner in owners.items():
        for name in dir(owner):
            public = not name.startswith("_") or (name.startswith("__") and prefix == "Tensor")
            value = getattr(owner, name, None) if public else None
            if callable(value) and name not in _ENDS_THE_PROCESS:
                found[f"{prefix}.{name}"] = value
    return sorted(found.items())


_ENDS_THE_PROCESS = frozenset({"__class__", "__init_subclass__", "__subclasshook__"})
"""Not of tensors."""


def wrong(fn: Any, arguments: Callable[[Any, Any], tuple[Any, ...]]) -> str | None:
    """What is wrong with an export of one call; None if it is exported, refused, or raises what the call raises."""
    model, x = Model(fn, arguments), torch.arange(9.0).reshape(3, 3) - 4
    before, version = (model.w.clone(), x.clone()), (model.w._version, x._version)
    threads, grad = torch.get_num_threads(), torch.is_grad_enabled()
    try:
        dynamo_lite.export(model, (x,))
    except InternalError as error:
        return f"internal error: {str(error)[-400:]}"
    except Exception:
        pass
    except BaseException as error:
        if type(error).__module__.startswith("dynamo_lite"):
            return f"{type(error).__name__} leaves export"
    if not all(map(_same, before, (model.w, x))) or version != (model.w._version, x._version):
        return "a tensor of the user's was changed"
    if (threads, grad) != (torch.get_num_threads(), torch.is_grad_enabled()):
        return "the process was changed"
    return None


def _same(one: torch.Tensor, other: torch.Tensor) -> bool:
    return one.shape == other.shape and one.dtype is other.dtype and torch.equal(one, other)


def _in_child(names: list[tuple[str, Any]], writing: int) -> None:
    with os.fdopen(writing, "w", buffering=1) as file:
        null = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(null, stream)
        for name, fn in names:
            signal.alarm(SECONDS)
            for text, arguments in ARGUMENTS.items():
                file.write(json.dumps(["begins", name, text]) + "\n")
                complaint = wrong(fn, arguments)
                if complaint is not None:
                    file.write(json.dumps(["wrong", name, text, complaint]) + "\n")
            file.write(json.dumps(["done", name]) + "\n")


def sweep(names: list[tuple[str, Any]]) -> Iterator[tuple[str, str, str]]:
    """(name, arguments, what happened) for each call that is not right."""
    while names:
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            os.close(reading)
            try:
                _in_child(names[:BATCH], writing)
            finally:
                os._exit(0)
        os.close(writing)
        with os.fdopen(reading) as file:
            rows = [json.loads(line) for line in file if line.endswith("\n")]
        _, status = os.waitpid(child, 0)
        yield from ((row[1], row[2], row[3]) for row in rows if row[0] == "wrong")
        done = sum(row[0] == "done" for row in rows)
        if status or done < len(names[:BATCH]):
            _, name, text = next(row for row in reversed(rows) if row[0] == "begins")
            yield name, text, f"the process ended: {signal.Signals(status & 127).name if status & 127 else status >> 8}"
            done += 1
        names = names[done:]


def main(first: int = 0, step: int = 1) -> None:
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    dynamo_lite.export(nn.Linear(2, 2), (torch.ones(1, 2),))  # what is imported once
    for row in sweep(callables()[first::step]):
        print(json.dumps(row), flush=True)
    print(json.dumps(len(callables()[first::step])))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
