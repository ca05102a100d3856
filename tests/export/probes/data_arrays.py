"""Memory that is no tensor's, written to and then shown by tensors: tables that forward builds with numpy."""

from __future__ import annotations

import array
import functools

import numpy as np
import torch
from torch import nn

from ..probe import equal, refused, sound, t

CONSTANT = "constant-mutated"
STATE = "python-state"


@equal
def array_filled_by_items():
    def forward(x):
        table = np.zeros((4, 2))
        for row in range(4):
            for column in range(2):
                table[row, column] = 10 * row + column
        shown = torch.from_numpy(table)[1] + torch.tensor(table)[2] + torch.as_tensor(table[3])
        return x + shown.float() + torch.FloatTensor(table)[0]

    return forward, (t(2),)


@equal
def array_changed_in_place():
    def forward(x):
        table = np.zeros(3)
        table += 2
        table[1:] *= 3
        np.copyto(table[:1], 9)
        np.add(table, 1, out=table)
        return x + torch.from_numpy(table)

    return forward, (t(3),)


@equal
def table_of_positions():
    def forward(x):
        length, width = x.shape
        angles = np.arange(length)[:, None] / np.power(10000, 2 * (np.arange(width)[None, :] // 2) / np.float32(width))
        angles[:, 0::2] = np.sin(angles[:, 0::2])
        angles[:, 1::2] = np.cos(angles[:, 1::2])
        return x + torch.from_numpy(angles).to(x.dtype)

    return forward, (t(4, 6),)


@equal
def arrays_that_operators_and_functions_made():
    outer = np.ones((3, 3))

    def forward(x):
        made = [outer + 1, -outer, outer @ outer, outer > 0.5, (outer * 2)[1:], outer[outer > 0], outer[[0, 1]]]
        made += [np.tile(np.ones(3), 2), np.linspace(0, 1, 3), np.roll(outer, 1), outer.copy()]
        made.append(functools.partial(np.zeros, 3)())
        for one in made:
            one[0] = 5
        return x + sum(torch.from_numpy(one).sum() for one in made)

    return forward, (t(3),)


@equal
def copy_taken_before_a_write():
    def forward(x):
        table = np.zeros(3)
        first = torch.tensor(table)
        table[0] = 7
        index = np.array([0, 1])
        picked = x[index]
        index[0] = 2
        return first, torch.tensor(table), x.new_tensor(table), picked, x[index]

    return forward, (t(3),)


@equal
def bytes_written_before_they_are_shown():
    def forward(x):
        raw = bytearray(12)
        raw[3] = 64
        memoryview(raw)[7] = 64
        floats = array.array("f", [0, 0])
        floats[1] = 2.5
        floats.append(3.0)
        return x + torch.frombuffer(raw, dtype=torch.float32) + torch.frombuffer(floats, dtype=torch.float32)

    return forward, (t(3),)


@sound(STATE)
def old_array_written_alike_each_time():
    table = np.zeros(3)

    def forward(x):
        table[0] = 5
        return x + torch.from_numpy(table), torch.tensor(table)

    return forward, (t(3),)


@sound(STATE)
def old_bytes_written_alike_each_time():
    raw = bytearray(12)

    def forward(x):
        raw[3] = 64
        return x + torch.frombuffer(raw, dtype=torch.float32)

    return forward, (t(3),)


@sound(STATE, CONSTANT)
def tensor_of_an_old_array_that_is_written():
    table = np.zeros(3, dtype="f4")
    shown = torch.from_numpy(table)

    def forward(x):
        before = x + shown
        table[0] = 5
        return before, x + shown

    return forward, (t(3),)


@refused(STATE)
def view_of_an_old_array_that_counts():
    table = np.zeros(3)

    def forward(x):
        view = table[1:]
        view += 1
        return x + torch.tensor(table)

    return forward, (t(3),)


@refused(STATE)
def old_array_by_keyword_that_counts():
    table = np.zeros((1, 3))

    def forward(x):
        view = np.squeeze(a=table)
        view += 1
        return x + torch.tensor(table)

    return forward, (t(3),)


@refused(CONSTANT)
def array_written_after_it_is_shown():
    def forward(x):
        table = np.zeros(3)
        shown = torch.from_numpy(table)
        table[0] = 5
        return x + shown

    return forward, (t(3),)


@refused(STATE)
def array_of_the_module_that_grows():
    class Grows(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = np.zeros(3)

        def forward(self, x):
            self.table = self.table + 1
            return x + torch.from_numpy(self.table)

    return Grows(), (t(3),)


@equal
def iterators_by_their_own_method():
    def forward(x):
        numbers, letters, back = range(3).__iter__(), "ab".__iter__(), [1, 2].__reversed__()
        return x + next(numbers) + next(numbers) + next(back), next(letters)

    return forward, (t(3),)


@refused("unrecordable-value")
def random_array_written():
    def forward(x):
        noise = np.random.rand(3)
        noise[0] = 1
        return x + torch.from_numpy(noise)

    return forward, (t(3),)
