"""Entries of a dict that outlives the call: written again by each call, or read first by whatever way there is."""

from __future__ import annotations

import collections
import functools
import types

import torch
from torch import nn

from ..probe import equal, refused, t

STATE = "python-state"


class Model(nn.Module):
    """`forward(x)` is `body(self, x)`; the keyword arguments become attributes."""

    def __init__(self, body, **attributes):
        super().__init__()
        self.body = body
        for name, value in attributes.items():
            setattr(self, name, value)

    def forward(self, x):
        return self.body(self, x)


@equal
def features_kept_by_hooks():
    class Hooked(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second, self.features = nn.Linear(3, 3), nn.Linear(3, 3), {}
            for name in ("first", "second"):
                getattr(self, name).register_forward_hook(functools.partial(self.save, name))

        def save(self, name, module, args, output):
            self.features[name] = output

        def forward(self, x):
            return self.second(self.first(x)) + self.features["first"]

    return Hooked(), (t(2, 3),)


@equal
def losses_left_in_a_dict():
    def body(self, x):
        self.aux["loss"] = x.pow(2).mean()
        self.aux["shape"] = tuple(x.shape)
        return x * 2

    return Model(body, aux={}), (t(3),)


@equal
def entries_of_a_closure_overwritten():
    last = collections.OrderedDict(value=None, scale=1)

    def forward(x):
        last["value"], last["scale"] = x * 2, 3
        return last["value"] * last["scale"]

    return forward, (t(3),)


def _reads_first(read, **attributes):
    """A program that takes a number from `self.table` by `read` and then writes it."""

    def body(self, x):
        y = x + read(self)
        self.table["k"] = 9
        return y

    return Model(body, **attributes), (t(3),)


@refused(STATE)
def entry_read_by_subscript():
    return _reads_first(lambda self: self.table["k"], table={"k": 1})


@refused(STATE)
def entry_read_by_a_method_in_c():
    return _reads_first(lambda self: sum(map(self.table.get, ["k"])), table={"k": 1})


@refused(STATE)
def entry_read_under_another_name():
    table = {"k": 1}
    return _reads_first(lambda self: self.other["table"]["k"], table=table, other={"table": table})


@refused(STATE)
def entry_read_in_a_text():
    return _reads_first(lambda self: int("{k}".format(**self.table)), table={"k": 1})


@refused(STATE)
def entry_read_through_a_proxy():
    table = {"k": 1}
    return _reads_first(lambda self: self.proxy["k"], table=table, proxy=types.MappingProxyType(table))


@refused(STATE)
def entry_read_through_a_view():
    table = {"k": 1}
    return _reads_first(lambda self: sum(self.view), table=table, view=table.values())


@refused(STATE)
def entry_read_by_a_bound_method():
    table = {"k": 1}
    return _reads_first(lambda self: self.get("k"), table=table, get=table.get)


@refused(STATE)
def entry_read_as_an_attribute():
    class Plain:
        pass

    plain, table = Plain(), {"k": 1}
    plain.__dict__ = table
    return _reads_first(lambda self: self.plain.k, table=table, plain=plain)


@refused(STATE)
def entry_read_as_a_keyword_of_a_partial():
    scale = functools.partial(torch.mul, other=2)

    def body(self, x):
        y = scale(x)
        scale.keywords["other"] = 9
        return y

    return Model(body), (t(3),)


@refused(STATE)
def entry_of_a_match():
    def body(self, x):
        match self.table:
            case {"k": k}:
                x = x + k
        self.table["k"] = 9
        return x

    return Model(body, table={"k": 1}), (t(3),)
