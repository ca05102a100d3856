"""Custom operators whose Python code changes state that the program reads: it runs when the program does."""

from __future__ import annotations

import torch
from torch import nn

from tests.export.probe import equal, refused, t

LOG: list[int] = []
COUNTS = {"n": 0}
CONFIG = {"scale": 2.0}
CALLS = 0


class Counter:
    def __init__(self) -> None:
        self.n, self.seen = 0, []

    def more(self):
        self.n += 1

    def doubled(self):
        return self.n * 2


COUNTER = Counter()


class Settings:
    calls = 0


def note(log):
    log.append(1)


def _operator(name):
    def register(fn):
        made = torch.library.custom_op(f"dynamo_lite_hostile::{name}", fn, mutates_args=())
        made.register_fake(torch.empty_like)
        return made

    return register


@_operator("appends")
def appends(x: torch.Tensor) -> torch.Tensor:
    LOG.append(1)
    return x + 1


@_operator("stores_item")
def stores_item(x: torch.Tensor) -> torch.Tensor:
    COUNTS["n"] += 1
    return x + 1


@_operator("stores_name")
def stores_name(x: torch.Tensor) -> torch.Tensor:
    global CALLS
    CALLS += 1
    return x + 1


@_operator("stores_attribute")
def stores_attribute(x: torch.Tensor) -> torch.Tensor:
    COUNTER.n += 1
    return x + 1


@_operator("calls_method")
def calls_method(x: torch.Tensor) -> torch.Tensor:
    COUNTER.more()
    return x + 1


@_operator("appends_to_attribute")
def appends_to_attribute(x: torch.Tensor) -> torch.Tensor:
    COUNTER.seen.append(1)
    return x + 1


@_operator("stores_on_class")
def stores_on_class(x: torch.Tensor) -> torch.Tensor:
    Settings.calls += 1
    return x + 1


@_operator("calls_function")
def calls_function(x: torch.Tensor) -> torch.Tensor:
    note(LOG)
    LOG.append(2)
    return x + 1


@_operator("reads")
def reads(x: torch.Tensor) -> torch.Tensor:
    return x * CONFIG["scale"] + COUNTER.doubled()


def _reset():
    global CALLS
    LOG.clear()
    COUNTS["n"] = CALLS = Settings.calls = COUNTER.n = 0
    COUNTER.seen.clear()


CHANGING = {
    "appended": (appends, lambda: len(LOG)),
    "truth": (appends, lambda: 1 if LOG else 2),
    "item": (stores_item, lambda: COUNTS["n"]),
    "name": (stores_name, lambda: CALLS),
    "attribute": (stores_attribute, lambda: COUNTER.n),
    "method": (calls_method, lambda: COUNTER.n),
    "method_of_reader": (calls_method, lambda: COUNTER.doubled()),
    "in_attribute": (appends_to_attribute, lambda: len(COUNTER.seen)),
    "class_attribute": (stores_on_class, lambda: Settings.calls),
    "function": (calls_function, lambda: len(LOG)),
}
for _name, (_op, _seen) in CHANGING.items():
    for _when in ("before", "after"):

        def _build(op=_op, seen=_seen, before=_when == "before"):
            _reset()

            def f(x):
                if before:
                    found = seen()
                    return op(x) + found
                y = op(x)
                return y + seen()

            return f, (t(3),)

        _build.__name__ = f"{_name}_{_when}"
        globals()[_build.__name__] = refused("outside-object")(_build)


@equal
def read_by_both():
    _reset()
    return lambda x: reads(x) * CONFIG["scale"] + COUNTER.n, (t(3),)


@equal
def changed_and_not_read():
    _reset()
    return lambda x: appends(stores_item(stores_name(x))) + CONFIG["scale"], (t(3),)


@equal
def local_of_the_operator():
    @_operator("local")
    def local(x: torch.Tensor) -> torch.Tensor:
        parts = []
        parts.append(x)
        out = torch.empty_like(x)
        out[:] = parts[0] + 1
        return out

    return lambda x: local(x) * 2, (t(3),)


@refused("outside-object")
def held_by_a_closure():
    log = [1]

    @_operator("closure")
    def closure(x: torch.Tensor) -> torch.Tensor:
        log.append(1)
        return x + 1

    return lambda x: closure(x) + len(log), (t(3),)


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.counter = COUNTER

    def forward(self, x):
        return calls_method(x) + self.counter.n


@refused("outside-object")
def held_by_the_module():
    _reset()
    return Model(), (t(3),)
