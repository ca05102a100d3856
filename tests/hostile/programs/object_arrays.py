"""numpy arrays of objects, and subclasses of ndarray: numpy's C code calls what they hold."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from tests.export.probe import equal, refused, t

LOG: list[str] = []


class Number:
    """Counts what is asked of it."""

    def __init__(self, n):
        self.n = n
        self.asked = 0

    def __add__(self, other):
        self.asked += 1
        return Number(self.n + getattr(other, "n", other))

    __radd__ = __add__

    def __mul__(self, other):
        return Number(self.n * getattr(other, "n", other))

    def __lt__(self, other):
        self.asked += 1
        return self.n < other.n

    def __eq__(self, other):
        self.asked += 1
        return self.n == getattr(other, "n", other)

    __hash__ = None

    def __float__(self):
        self.asked += 1
        return float(self.n)

    def sqrt(self):
        self.asked += 1
        return self.n**0.5


class Pure(Number):
    """The same without the count."""

    def __add__(self, other):
        return Pure(self.n + getattr(other, "n", other))

    __radd__ = __add__

    def __lt__(self, other):
        return self.n < other.n

    def __float__(self):
        return float(self.n)

    def sqrt(self):
        return self.n**0.5


class Tagged(np.ndarray):
    """An array with an attribute, which every view of it gets."""

    def __array_finalize__(self, obj):
        LOG.append("view")
        self.tag = getattr(obj, "tag", 0) + 1


class Counting(np.ndarray):
    """An array that counts the functions that it is given to."""

    calls = 0

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        Counting.calls += 1
        return getattr(ufunc, method)(*(np.asarray(i) for i in inputs), **kwargs)


def objects(*values):
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found


def program(forward, kept=None):
    LOG.clear()
    Counting.calls = 0

    class Program(nn.Module):
        def __init__(self):
            super().__init__()
            self.kept = kept

    Program.forward = forward
    return Program(), (t(2, 3),)


@refused("python-state")
def operator_on_an_array():
    def forward(self, x):
        return x * (self.kept + 1)[0].n

    return program(forward, objects(Number(1), Number(2)))


@refused("python-state")
def ufunc_on_an_array():
    def forward(self, x):
        return x * np.add(self.kept, 1)[0].n + self.kept[0].asked

    return program(forward, objects(Number(1), Number(2)))


@refused("python-state")
def method_of_an_array():
    def forward(self, x):
        return x * self.kept.sum().n + self.kept[0].asked

    return program(forward, objects(Number(1), Number(2)))


@refused("python-state")
def function_of_an_array():
    def forward(self, x):
        return x * np.sum(self.kept).n + self.kept[0].asked

    return program(forward, objects(Number(1), Number(2)))


@refused("python-state")
def method_found_by_a_ufunc():
    def forward(self, x):
        return x * float(np.sqrt(self.kept)[0])

    return program(forward, objects(Number(1), Number(2)))


@refused("python-state")
def converted_to_floats():
    def forward(self, x):
        return x * float(self.kept.astype(float).sum())

    return program(forward, objects(Number(1), Number(2)))


@refused("python-state")
def sorted_array():
    def forward(self, x):
        return x * np.sort(self.kept)[0].n

    return program(forward, objects(Number(2), Number(1)))


@refused("python-state")
def compared_arrays():
    def forward(self, x):
        return x * float((self.kept == 1).sum())

    return program(forward, objects(Number(2), Number(1)))


@refused("python-state")
def two_dimensions():
    def forward(self, x):
        return x * (self.kept + 1)[0, 1].n

    return program(forward, objects(Number(1), Number(2)).reshape(1, 2))


@refused("python-state")
def list_of_numbers_made_an_array():
    def forward(self, x):
        return x * float(np.array(self.kept, dtype=float).sum())

    return program(forward, [Number(1), Number(2)])


@equal
def pure_objects():
    def forward(self, x):
        return x * (self.kept + 1)[0].n + float(np.sqrt(self.kept)[1]) + np.sort(self.kept)[0].n

    return program(forward, objects(Pure(1), Pure(2)))


@equal
def objects_made_in_forward():
    def forward(self, x):
        kept = objects(Number(1), Number(2))
        return x * (kept + 1)[0].n + kept[0].asked

    return program(forward)


@refused("python-state")
def items_written():
    def forward(self, x):
        self.kept[0] = Number(self.kept[0].n + 1)
        return x * self.kept[0].n

    return program(forward, objects(Number(1), Number(2)))


@refused("python-state")
def attribute_of_an_item():
    def forward(self, x):
        self.kept[0].n += 1
        return x * self.kept[0].n

    return program(forward, objects(Number(1), Number(2)))


@refused("python-state")
def callback_over_objects():
    def forward(self, x):
        return x * self.kept[0](self.kept[1])[0].n

    return program(forward, [np.frompyfunc(lambda v: v + 1, 1, 1), objects(Number(1))])


@refused("python-state")
def callback_with_state():
    seen = []

    def forward(self, x):
        self.kept(np.arange(3))
        return x * len(seen)

    return program(forward, np.frompyfunc(lambda v: seen.append(v) or v, 1, 1))


@refused("python-state")
def callback_reduces():
    seen = []

    def forward(self, x):
        return x * float(self.kept.reduce(np.arange(3).astype(object))) + len(seen)

    return program(forward, np.frompyfunc(lambda a, b: seen.append(a) or a + b, 2, 1))


@equal
def callback_computes():
    def forward(self, x):
        return x * float(self.kept(np.arange(3), 2)[1])

    return program(forward, np.frompyfunc(lambda a, b: a * b, 2, 1))


@refused("data-dependent-value")
def tensors_in_an_array():
    def forward(self, x):
        kept = objects(x, x + 1)
        return (kept * 2)[1]

    return program(forward)


@refused("new-state-tensor")
def stored_tensor():
    def forward(self, x):
        self.kept[0] = x
        return self.kept[0] * 2

    return program(forward, objects(None, None))


@refused("python-state")
def structured_array():
    def forward(self, x):
        self.kept["a"][0] += 1
        return x * float(self.kept["a"][0])

    return program(forward, np.zeros(2, dtype=[("a", "f4"), ("b", "i4")]))


@refused("outside-object")
def record_of_an_array():
    def forward(self, x):
        record = self.kept[0]
        record["a"] = record["a"] + 1
        return x * float(self.kept["a"][0])

    return program(forward, np.zeros(2, dtype=[("a", "f4"), ("b", "i4")]))


@refused("python-state")
def recarray_attribute():
    def forward(self, x):
        self.kept.a[0] += 1
        return x * float(self.kept.a[0])

    return program(forward, np.rec.array([(1.0, 2)], dtype=[("a", "f4"), ("b", "i4")]))


@equal
def masked_array():
    def forward(self, x):
        self.kept[0] = np.ma.masked
        return x * float(self.kept.sum())

    return program(forward, np.ma.array([1.0, 2.0]))


@equal
def masked_array_read():
    def forward(self, x):
        return x * float(self.kept.sum())

    return program(forward, np.ma.array([1.0, 2.0], mask=[True, False]))


@refused("python-state")
def fill_value_of_a_masked_array():
    def forward(self, x):
        self.kept.fill_value = self.kept.fill_value + 1
        return x * float(self.kept.fill_value)

    return program(forward, np.ma.array([1.0, 2.0], fill_value=3.0))


@refused("python-state")
def matrix():
    def forward(self, x):
        self.kept[0, 0] += 1
        return x * float((self.kept * self.kept)[0, 0])

    return program(forward, np.matrix([[1.0, 2.0], [3.0, 4.0]]))


@refused("python-state")
def finalizer_of_a_subclass():
    def forward(self, x):
        part = self.kept[:1]
        return x * part.tag + len(LOG)

    return program(forward, np.arange(3.0).view(Tagged))


@refused("python-state")
def finalizer_of_a_result():
    def forward(self, x):
        return x * (self.kept + 1).tag + len(LOG)

    return program(forward, np.arange(3.0).view(Tagged))


@refused("python-state")
def protocol_of_a_subclass():
    def forward(self, x):
        return x * float(np.sum(self.kept)) + Counting.calls

    return program(forward, np.arange(3.0).view(Counting))


@refused("python-state")
def operator_of_a_subclass():
    def forward(self, x):
        return x * float((self.kept + 1)[0]) + Counting.calls

    return program(forward, np.arange(3.0).view(Counting))


@refused("python-state")
def subclass_attribute():
    def forward(self, x):
        self.kept.tag += 1
        return x * self.kept.tag

    return program(forward, np.arange(3.0).view(Tagged))


@refused("outside-object")
def flags_changed():
    def forward(self, x):
        self.kept.flags.writeable = not self.kept.flags.writeable
        return x * int(self.kept.flags.writeable)

    return program(forward, np.arange(3.0))


@refused("outside-object")
def resized():
    def forward(self, x):
        self.kept.resize(len(self.kept) + 1, refcheck=False)
        return x * len(self.kept)

    return program(forward, np.arange(3.0))


@refused("python-state")
def reshaped_in_place():
    def forward(self, x):
        self.kept.shape = self.kept.shape[::-1]
        return x * self.kept.shape[0]

    return program(forward, np.arange(6.0).reshape(2, 3))


@refused("python-state")
def written_flat():
    def forward(self, x):
        self.kept.flat = self.kept[0] + 1
        return x * float(self.kept[0])

    return program(forward, np.arange(3.0))


@refused("python-state")
def written_real_part():
    def forward(self, x):
        self.kept.real = self.kept.real + 1
        return x * float(self.kept.real[0])

    return program(forward, np.arange(3.0) + 1j)


@refused("python-state")
def written_through_the_base():
    def forward(self, x):
        self.kept.base[0] += 1
        return x * float(self.kept[0])

    return program(forward, np.arange(6.0)[:3])


@refused("python-state")
def written_through_a_view():
    def forward(self, x):
        self.kept.T[0, 0] += 1
        return x * float(self.kept[0, 0])

    return program(forward, np.arange(6.0).reshape(2, 3))


@refused("python-state")
def written_by_a_mask():
    def forward(self, x):
        self.kept[self.kept >= 0] += 1
        return x * float(self.kept[0])

    return program(forward, np.arange(3.0))


@refused("python-state", "constant-mutated")
def shares_memory_with_a_tensor():
    def forward(self, x):
        self.kept[1][0] += 1
        return x * self.kept[0]

    array = np.arange(3.0, dtype=np.float32)
    return program(forward, [torch.from_numpy(array), array])


@refused("constant-mutated")
def tensor_written_under_an_array():
    def forward(self, x):
        self.kept[0].add_(1)
        return x * float(self.kept[1][0])

    array = np.arange(3.0, dtype=np.float32)
    return program(forward, [torch.from_numpy(array), array])


@refused("python-state")
def scalar_setter():
    def forward(self, x):
        np.put(self.kept, [0], self.kept[0] + 1)
        return x * float(self.kept[0])

    return program(forward, np.arange(3.0))


@refused("python-state")
def output_argument():
    def forward(self, x):
        np.add(self.kept, 1, out=self.kept)
        return x * float(self.kept[0])

    return program(forward, np.arange(3.0))


@refused("python-state")
def output_argument_by_position():
    def forward(self, x):
        np.add(self.kept, 1, self.kept)
        return x * float(self.kept[0])

    return program(forward, np.arange(3.0))


@equal
def output_of_a_method():
    def forward(self, x):
        self.kept.clip(1, 2, self.kept)
        return x * float(self.kept[0])

    return program(forward, np.arange(3.0))


@refused("python-state")
def output_of_a_function():
    def forward(self, x):
        np.cumsum(self.kept, 0, None, self.kept)
        return x * float(self.kept[2])

    return program(forward, np.arange(3.0))


@refused("python-state")
def taken_into():
    def forward(self, x):
        self.kept.take([1, 2, 0], 0, self.kept, "clip")
        return x * float(self.kept[0])

    return program(forward, np.arange(3.0))


@refused("python-state")
def iterated_for_writing():
    def forward(self, x):
        with np.nditer(self.kept, op_flags=["readwrite"]) as it:
            for item in it:
                item[...] = item + 1
        return x * float(self.kept[0])

    return program(forward, np.arange(3.0))


@refused("python-state")
def dtype_changed():
    def forward(self, x):
        self.kept.dtype = np.int64 if self.kept.dtype == np.float64 else np.float64
        return x * self.kept.dtype.itemsize + (self.kept.dtype.kind == "i")

    return program(forward, np.arange(3.0))


def _array_of(*items):
    array = np.empty(len(items), dtype=object)
    for index, item in enumerate(items):
        array[index] = item
    return array


@refused("python-state")
def list_in_an_array_is_changed():
    array = _array_of([1], None)

    def f(x):
        array[0].append(1)
        return x * len(array[0])

    return f, (t(3),)


@refused("python-state")
def set_and_dict_in_an_array_are_changed():
    array = _array_of({1}, {"n": [2]})

    def f(x):
        array[0].add(len(array[0]) + 1)
        array[1]["n"].append(3)
        return x * len(array[0])

    return f, (t(3),)


@refused("python-state")
def list_in_an_array_of_the_module_is_changed():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.rows = _array_of([], [])

        def forward(self, x):
            self.rows[1].append(x.shape[0])
            return x * len(self.rows[1])

    return M(), (t(3),)
