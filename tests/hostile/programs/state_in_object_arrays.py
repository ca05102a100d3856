"""State that a numpy array of objects holds: the collector knows of no array, nor of a dict that holds numbers."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from tests.export.probe import equal, refused, t

SHARED = np.array([{"n": 0}], dtype=object)


class Counting(nn.Module):
    """Adds how often it was called, counted by `count`, which gets the array."""

    def __init__(self, make, count) -> None:
        super().__init__()
        self.a, self.count = make(), count

    def forward(self, x):
        return x + self.count(self.a)


def dicts():
    return np.array([{"n": 0}], dtype=object)


def dict_alone():
    return np.array({"n": 0}, dtype=object)


def masked():
    return np.ma.array([{"n": 0}], mask=[False], dtype=object)


def rows():
    made = np.empty((2, 1), dtype=object)
    made[0, 0], made[1, 0] = {"n": 0}, {"n": 0}
    return made


def records():
    made = np.zeros(1, dtype=[("d", object), ("g", int)])
    made["d"][0] = {"n": 0}
    return made


def nested():
    made = np.empty(1, dtype=object)
    made[0] = dicts()
    return made


def in_tuples():
    made = np.empty(1, dtype=object)
    made[0] = (1, {"n": 0})
    return made


def more(d):
    d["n"] += 1
    return d["n"]


COUNTS = {
    "item": (dicts, lambda a: more(a[0])),
    "method_item": (dicts, lambda a: more(a.item())),
    "loop": (dicts, lambda a: sum(more(d) for d in a)),
    "flat": (dicts, lambda a: sum(more(d) for d in a.flat)),
    "tolist": (dicts, lambda a: more(a.tolist()[0])),
    "unpacked": (dicts, lambda a: more(*a)),
    "list": (dicts, lambda a: more([*list(a)][-1])),
    "next": (dicts, lambda a: more(next(iter(a)))),
    "mapped": (dicts, lambda a: sum(map(more, a))),
    "largest": (dicts, lambda a: more(max(a, key=lambda d: d["n"]))),
    "take": (dicts, lambda a: more(a.take([0])[0])),
    "copy": (dicts, lambda a: more(a.copy()[0])),
    "joined": (dicts, lambda a: more(np.concatenate([a, a])[1])),
    "reshaped": (dicts, lambda a: more(a.reshape(1, 1)[0, 0])),
    "enumerated": (dicts, lambda a: sum(more(d) for _, d in np.ndenumerate(a))),
    "without_dimensions": (dict_alone, lambda a: more(a[()])),
    "without_dimensions_item": (dict_alone, lambda a: more(a.item())),
    "masked": (masked, lambda a: more(a[0])),
    "rows": (rows, lambda a: more(a[1, 0])),
    "record": (records, lambda a: more(a[0]["d"])),
    "field": (records, lambda a: more(a["d"][0])),
    "nested": (nested, lambda a: more(a[0][0])),
    "tuple": (in_tuples, lambda a: more(a[0][1])),
    "update": (dicts, lambda a: a[0].update(n=a[0]["n"] + 1) or a[0]["n"]),
    "removed": (dicts, lambda a: a[0].pop("n", 7)),
    "new_key": (dicts, lambda a: a[0].setdefault(len(a[0]), 5)),
    "cleared": (dicts, lambda a: len(a[0]) + (a[0].clear() or 0)),
}

for _name, (_make, _count) in COUNTS.items():

    def _build(make=_make, count=_count):
        return Counting(make, count), (t(3),)

    _build.__name__ = f"by_{_name}"
    globals()[f"by_{_name}"] = refused("python-state")(_build)


@refused("python-state")
def of_the_module():
    SHARED[0]["n"] = 0
    return lambda x: x + more(SHARED[0]), (t(3),)


@equal
def only_read():
    return Counting(dicts, lambda a: a[0]["n"] + len(a[0])), (t(3),)


@equal
def made_in_forward():
    def count(a):
        made = np.array([{"n": 3}, {"n": 4}], dtype=object)
        return more(made[0]) + more(made.copy()[1]) + a[0]["n"]

    return Counting(dicts, count), (t(3),)


@equal
def put_back():
    def count(a):
        a[0]["n"] += 1
        found = a[0]["n"]
        a[0]["n"] -= 1
        return found

    return Counting(dicts, count), (t(3),)


@equal
def tensors_of_the_model():
    def count(a):
        return a[0]["t"] * 2

    return Counting(lambda: np.array([{"t": torch.ones(3)}], dtype=object), count), (t(3),)
