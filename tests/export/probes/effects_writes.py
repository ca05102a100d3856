"""Every way to write into an object from outside: each is carried, harmless or refused, and always put back."""

# Programs as users write them, odd ones too.

from __future__ import annotations

import array
import bisect
import collections
import copy
import ctypes
import decimal
import functools
import heapq
import io
import itertools
import operator
import queue
import random
import threading
import types
from collections.abc import Callable
from typing import Any

import numpy as np
from torch import nn

from ..probe import equal, refused, sound, t

STATE = "python-state"


class Model(nn.Module):
    """`forward(x)` is `body(self, x)`; the keyword arguments become attributes."""

    def __init__(self, body: Callable[..., Any], **attributes: Any):
        super().__init__()
        self.body = body
        for name, value in attributes.items():
            setattr(self, name, value)

    def forward(self, x):
        return self.body(self, x)


class Slots:
    __slots__ = ("n",)

    def __init__(self, n: int):
        self.n = n


class Plain:
    kind = 1

    def __init__(self, **attributes: Any):
        self.__dict__.update(attributes)


# ---- array, bytearray, memoryview, numpy, ctypes: memory that Python code writes into


@refused(STATE)
def array_item():
    def body(self, x):
        self.data[0] += 1
        return x * self.data[0]

    return Model(body, data=array.array("i", [1, 2])), (t(3),)


@refused(STATE)
def array_append():
    def body(self, x):
        self.data.append(3)
        return x * len(self.data)

    return Model(body, data=array.array("i", [1, 2])), (t(3),)


@refused(STATE)
def array_extended_by_operator():
    def body(self, x):
        self.data += array.array("i", [3])
        return x * len(self.data)

    return Model(body, data=array.array("i", [1, 2])), (t(3),)


@equal
def array_of_its_own():
    def body(self, x):
        data = array.array("i", [1, 2])
        data.append(3)
        data[0] = 5
        return x * sum(data)

    return Model(body), (t(3),)


@equal
def array_is_put_back():
    def body(self, x):
        self.data[0] = 7
        y = x * self.data[0]
        self.data[0] = 1
        return y

    return Model(body, data=array.array("i", [1, 2])), (t(3),)


@sound(STATE, "outside-object")
def memoryview_of_a_bytearray():
    def body(self, x):
        self.view[0] = (self.view[0] + 1) % 7
        return x * self.data[0]

    data = bytearray(b"\x01\x02")
    return Model(body, data=data, view=memoryview(data)), (t(3),)


@sound(STATE, "outside-object")
def memoryview_made_in_forward():
    def body(self, x):
        view = memoryview(self.data)
        view[0] = (view[0] + 1) % 7
        return x * self.data[0]

    return Model(body, data=bytearray(b"\x01\x02")), (t(3),)


@sound(STATE, "outside-object")
def memoryview_of_an_array_slice():
    def body(self, x):
        memoryview(self.data)[0:1] = array.array("i", [self.data[0] + 1])
        return x * self.data[0]

    return Model(body, data=array.array("i", [1, 2])), (t(3),)


@equal
def memoryview_of_its_own():
    def body(self, x):
        data = bytearray(b"\x01\x02")
        memoryview(data)[0] = 5
        return x * data[0]

    return Model(body), (t(3),)


@sound(STATE, "outside-object", "opaque-call")
def bytearray_filled_by_struct():
    import struct

    def body(self, x):
        struct.pack_into("B", self.data, 0, self.data[0] + 1)
        return x * self.data[0]

    return Model(body, data=bytearray(b"\x01\x02")), (t(3),)


@sound(STATE, "outside-object", "opaque-call")
def bytearray_read_into():
    def body(self, x):
        io.BytesIO(bytes([self.data[0] + 1])).readinto(self.data)
        return x * self.data[0]

    return Model(body, data=bytearray(b"\x01\x02")), (t(3),)


@sound(STATE, "outside-object")
def numpy_item():
    def body(self, x):
        self.data[0] += 1
        return x * float(self.data[0])

    return Model(body, data=np.ones(2)), (t(3),)


@sound(STATE, "outside-object")
def numpy_in_place_operator():
    def body(self, x):
        self.data += 1
        return x * float(self.data[0])

    return Model(body, data=np.ones(2)), (t(3),)


@sound(STATE, "outside-object")
def numpy_out_argument():
    def body(self, x):
        np.add(self.data, 1, out=self.data)
        return x * float(self.data[0])

    return Model(body, data=np.ones(2)), (t(3),)


@sound(STATE, "outside-object")
def numpy_method_fill():
    def body(self, x):
        self.data.fill(float(self.data[0]) + 1)
        return x * float(self.data[0])

    return Model(body, data=np.ones(2)), (t(3),)


@sound(STATE, "outside-object")
def numpy_sort_in_place():
    def body(self, x):
        y = x * float(self.data[0])
        self.data.sort()
        return y

    return Model(body, data=np.array([2.0, 1.0])), (t(3),)


@sound(STATE, "outside-object")
def numpy_copyto():
    def body(self, x):
        y = x * float(self.data[0])
        np.copyto(self.data, 5.0)
        return y

    return Model(body, data=np.array([2.0, 1.0])), (t(3),)


@sound(STATE, "outside-object")
def numpy_ufunc_at():
    def body(self, x):
        y = x * float(self.data[0])
        np.add.at(self.data, [0], 5.0)
        return y

    return Model(body, data=np.array([2.0, 1.0])), (t(3),)


@sound(STATE, "outside-object")
def numpy_through_a_view():
    def body(self, x):
        part = self.data[:1]
        part[0] += 1
        return x * float(self.data[0])

    return Model(body, data=np.ones(2)), (t(3),)


@sound(STATE, "outside-object")
def numpy_through_flat():
    def body(self, x):
        self.data.flat[0] += 1
        return x * float(self.data[0])

    return Model(body, data=np.ones(2)), (t(3),)


@sound(STATE, "outside-object")
def numpy_shape_assigned():
    def body(self, x):
        y = x * len(self.data)
        self.data.shape = (4, 1)
        return y

    return Model(body, data=np.ones((2, 2))), (t(3),)


@equal
def numpy_of_its_own():
    def body(self, x):
        data = np.ones(2)
        data[0] = 3
        data += 1
        np.add(data, 1, out=data)
        return x * float(data.sum())

    return Model(body), (t(3),)


@equal
def numpy_table_read():
    def body(self, x):
        return x * float(np.sqrt(self.data).sum()) + float(self.data.max())

    return Model(body, data=np.arange(3.0)), (t(3),)


@sound(STATE, "outside-object", "opaque-call")
def ctypes_array_item():
    def body(self, x):
        self.data[0] += 1
        return x * self.data[0]

    return Model(body, data=(ctypes.c_int * 2)(1, 2)), (t(3),)


@sound(STATE, "outside-object", "opaque-call")
def ctypes_value():
    def body(self, x):
        self.data.value += 1
        return x * self.data.value

    return Model(body, data=ctypes.c_int(1)), (t(3),)


# ---- C functions that change an argument


@refused("global-rng")
def random_shuffle():
    def body(self, x):
        random.shuffle(self.items)
        return x * self.items[0]

    return Model(body, items=[1, 2, 3]), (t(3),)


@refused(STATE)
def heap_push():
    def body(self, x):
        heapq.heappush(self.items, 0)
        return x * len(self.items)

    return Model(body, items=[1, 2, 3]), (t(3),)


@refused(STATE)
def heap_pop_max():
    def body(self, x):
        heapq._heappop_max(self.items)
        return x * len(self.items)

    return Model(body, items=[3, 2, 1]), (t(3),)


@refused(STATE)
def bisect_insort():
    def body(self, x):
        bisect.insort(self.items, 2)
        return x * len(self.items)

    return Model(body, items=[1, 3]), (t(3),)


@refused(STATE)
def bisect_insort_with_keywords():
    def body(self, x):
        bisect.insort(a=self.items, x=2)
        return x * len(self.items)

    return Model(body, items=[1, 3]), (t(3),)


@refused(STATE)
def list_sort():
    def body(self, x):
        y = x * self.items[0]
        self.items.sort()
        return y

    return Model(body, items=[3, 1]), (t(3),)


@refused(STATE)
def operator_setitem():
    def body(self, x):
        operator.setitem(self.items, 0, self.items[0] + 1)
        return x * self.items[0]

    return Model(body, items=[1, 3]), (t(3),)


@refused(STATE)
def operator_iadd():
    def body(self, x):
        operator.iadd(self.items, [1])
        return x * len(self.items)

    return Model(body, items=[1, 3]), (t(3),)


@refused(STATE)
def operator_ior_of_a_dict():
    def body(self, x):
        operator.ior(self.items, {len(self.items): 1})
        return x * len(self.items)

    return Model(body, items={"a": 1}), (t(3),)


@refused(STATE)
def methodcaller_append():
    def body(self, x):
        operator.methodcaller("append", 1)(self.items)
        return x * len(self.items)

    return Model(body, items=[1, 3]), (t(3),)


@refused(STATE)
def unbound_method():
    def body(self, x):
        list.append(self.items, 1)
        return x * len(self.items)

    return Model(body, items=[1, 3]), (t(3),)


@refused(STATE)
def bound_method_kept_outside():
    items = [1]

    def body(self, x):
        self.push(1)
        return x * len(self.items)

    return Model(body, items=items, push=items.append), (t(3),)


@refused(STATE)
def partial_of_append():
    items = [1]

    def body(self, x):
        self.push()
        return x * len(self.items)

    return Model(body, items=items, push=functools.partial(items.append, 1)), (t(3),)


@refused(STATE)
def map_of_append():
    def body(self, x):
        list(map(self.items.append, range(2)))
        return x * len(self.items)

    return Model(body, items=[1]), (t(3),)


@refused(STATE)
def map_of_setitem():
    def body(self, x):
        n = len(self.table)
        list(map(self.table.__setitem__, [n, n + 1], [1, 2]))
        return x * len(self.table)

    return Model(body, table={"a": 1}), (t(3),)


@refused(STATE)
def sort_key_that_appends():
    def body(self, x):
        sorted([1], key=self.items.append)
        return x * len(self.items)

    return Model(body, items=[1]), (t(3),)


@refused(STATE)
def reduce_of_iadd():
    def body(self, x):
        functools.reduce(operator.iadd, [[1], [2]], self.items)
        return x * len(self.items)

    return Model(body, items=[1]), (t(3),)


@refused(STATE)
def sum_into_a_start_value():
    """`sum` adds with `+`, which makes new lists: only the user's own __add__ changes its operand."""

    class Acc:
        def __init__(self):
            self.n = 1

        def __add__(self, other):
            self.n += other
            return self

    def body(self, x):
        sum([1, 2], self.acc)
        return x * self.acc.n

    return Model(body, acc=Acc()), (t(3),)


@refused(STATE)
def deque_extended_by_consumption():
    def body(self, x):
        collections.deque(map(self.items.append, [1]), maxlen=0)
        return x * len(self.items)

    return Model(body, items=[1]), (t(3),)


@refused(STATE)
def zip_into_a_dict_update():
    def body(self, x):
        self.table.update(zip([len(self.table)], [1]), d=3)
        return x * len(self.table)

    return Model(body, table={"a": 1}), (t(3),)


@refused(STATE)
def set_update_operator():
    def body(self, x):
        self.items |= {len(self.items)}
        return x * len(self.items)

    return Model(body, items={10}), (t(3),)


@refused(STATE)
def counter_update():
    def body(self, x):
        self.items.update("aab")
        return x * self.items["a"]

    return Model(body, items=collections.Counter("a")), (t(3),)


@refused(STATE)
def counter_subtract():
    def body(self, x):
        self.items.subtract("a")
        return x * self.items["a"]

    return Model(body, items=collections.Counter("a")), (t(3),)


@sound(STATE)
def ordered_dict_moves():
    def body(self, x):
        self.items.move_to_end("a")
        return x * next(iter(self.items.values()))

    return Model(body, items=collections.OrderedDict(a=1, b=2)), (t(3),)


@refused(STATE)
def default_dict_missing():
    def body(self, x):
        self.items[len(self.items)]
        return x * len(self.items)

    return Model(body, items=collections.defaultdict(int)), (t(3),)


@refused(STATE)
def default_factory_replaced():
    def body(self, x):
        y = x * self.items["a"]
        self.items.default_factory = float
        del self.items["a"]
        return y * (2 if self.items.default_factory is int else 3)

    return Model(body, items=collections.defaultdict(int)), (t(3),)


@refused(STATE)
def chain_map_child():
    def body(self, x):
        self.items["n"] = self.items["n"] + 1
        return x * self.items["n"]

    return Model(body, items=collections.ChainMap({"n": 1})), (t(3),)


@refused(STATE)
def user_list_append():
    def body(self, x):
        self.items.append(1)
        return x * len(self.items)

    return Model(body, items=collections.UserList([1])), (t(3),)


@refused(STATE)
def deque_full_append():
    def body(self, x):
        self.items.append(self.items[-1] + 1)
        return x * self.items[0]

    return Model(body, items=collections.deque([1, 2], maxlen=2)), (t(3),)


@sound(STATE)
def list_slice_assigned():
    def body(self, x):
        self.items[1:] = [self.items[0], 4]
        return x * len(self.items)

    return Model(body, items=[1, 2, 3, 5]), (t(3),)


@refused(STATE)
def list_slice_deleted():
    def body(self, x):
        y = x * len(self.items)
        del self.items[::2]
        return y

    return Model(body, items=[1, 2, 3, 5]), (t(3),)


@refused(STATE)
def list_multiplied_in_place():
    def body(self, x):
        self.items *= 2
        return x * len(self.items)

    return Model(body, items=[1]), (t(3),)


@refused(STATE)
def list_initialised_again():
    def body(self, x):
        y = x * len(self.items)
        self.items.__init__([1, 2, 3])
        return y

    return Model(body, items=[1]), (t(3),)


@sound(STATE)
def dict_order_changes():
    def body(self, x):
        self.items["a"] = self.items.pop("a")
        return x * next(iter(self.items.values()))

    return Model(body, items={"a": 1, "b": 2}), (t(3),)


# ---- attributes by every road


@refused(STATE)
def attribute_through_vars():
    def body(self, x):
        vars(self)["n"] = self.n + 1
        return x * self.n

    return Model(body, n=1), (t(3),)


@refused(STATE)
def dict_replaced():
    def body(self, x):
        self.obj.__dict__ = {"n": self.obj.n + 1}
        return x * self.obj.n

    return Model(body, obj=Plain(n=1)), (t(3),)


@refused(STATE)
def dict_merged_in_place():
    def body(self, x):
        self.obj.__dict__ |= {"n": self.obj.n + 1}
        return x * self.obj.n

    return Model(body, obj=Plain(n=1)), (t(3),)


@refused(STATE)
def slot_through_its_descriptor():
    def body(self, x):
        Slots.n.__set__(self.obj, self.obj.n + 1)
        return x * self.obj.n

    return Model(body, obj=Slots(1)), (t(3),)


@refused(STATE)
def slot_deleted():
    def body(self, x):
        y = x * getattr(self.obj, "n", 5)
        if hasattr(self.obj, "n"):
            del self.obj.n
        return y

    return Model(body, obj=Slots(1)), (t(3),)


@refused(STATE)
def namespace_attribute():
    def body(self, x):
        self.obj.n += 1
        return x * self.obj.n

    return Model(body, obj=types.SimpleNamespace(n=1)), (t(3),)


@refused(STATE)
def class_attribute_by_type_setattr():
    class Local:
        n = 1

    def body(self, x):
        type.__setattr__(Local, "n", Local.n + 1)
        return x * Local.n

    return Model(body), (t(3),)


@refused(STATE)
def class_attribute_deleted():
    class Local:
        n = 1

    def body(self, x):
        y = x * getattr(Local, "n", 5)
        if hasattr(Local, "n"):
            del Local.n
        return y

    return Model(body), (t(3),)


@sound(STATE, "outside-object", "opaque-call")
def class_bases_assigned():
    class A:
        n = 1

    class B:
        n = 2

    class Local(A):
        pass

    def body(self, x):
        y = x * Local.n
        Local.__bases__ = (B,)
        return y

    return Model(body), (t(3),)


@sound(STATE, "outside-object", "opaque-call")
def class_renamed():
    class Local:
        pass

    def body(self, x):
        y = x * len(Local.__name__)
        Local.__name__ = "Other"
        return y

    return Model(body), (t(3),)


@refused(STATE)
def class_of_an_instance_assigned():
    class A:
        n = 1

    class B:
        n = 2

    def body(self, x):
        y = x * self.obj.n
        self.obj.__class__ = B
        return y

    return Model(body, obj=A()), (t(3),)


@refused(STATE)
def class_through_its_descriptor():
    class A:
        n = 1

    class B:
        n = 2

    def body(self, x):
        y = x * self.obj.n
        object.__dict__["__class__"].__set__(self.obj, B)
        return y

    return Model(body, obj=A()), (t(3),)


@refused(STATE)
def mutable_default():
    def body(self, x, seen=[]):  # noqa: B006
        seen.append(1)
        return x * len(seen)

    return Model(body), (t(3),)


@refused(STATE)
def default_replaced():
    def scale(x, by=1):
        return x * by

    def body(self, x):
        y = scale(x)
        scale.__defaults__ = (scale.__defaults__[0] + 1,)
        return y

    return Model(body), (t(3),)


@refused(STATE)
def keyword_default_changed():
    def scale(x, *, by=1):
        return x * by

    def body(self, x):
        y = scale(x)
        scale.__kwdefaults__["by"] = 5
        return y

    return Model(body), (t(3),)


@sound(STATE, "outside-object", "opaque-call")
def code_replaced():
    def one(x):
        return x * 1

    def two(x):
        return x * 2

    def body(self, x):
        y = one(x)
        one.__code__ = two.__code__
        return y

    return Model(body), (t(3),)


@refused(STATE)
def function_attribute():
    def body(self, x):
        body.calls = getattr(body, "calls", 0) + 1
        return x * body.calls

    return Model(body), (t(3),)


@sound(STATE, "outside-object")
def annotations_changed():
    def one(x: int):
        return x

    def body(self, x):
        y = x * len(one.__annotations__)
        one.__annotations__["y"] = int
        return y

    return Model(body), (t(3),)


@refused(STATE)
def nonlocal_counter():
    n = 1

    def body(self, x):
        nonlocal n
        n += 1
        return x * n

    return Model(body), (t(3),)


@sound(STATE, "outside-object")
def cell_contents_assigned():
    n = 1

    def read():
        return n

    def body(self, x):
        cell = read.__closure__[0]
        cell.cell_contents = cell.cell_contents + 1
        return x * read()

    return Model(body), (t(3),)


@refused(STATE)
def module_attribute():
    def body(self, x):
        self.mod.n = self.mod.n + 1
        return x * self.mod.n

    mod = types.ModuleType("made_up")
    mod.n = 1
    return Model(body, mod=mod), (t(3),)


@sound(STATE, "outside-object")
def exception_arguments_assigned():
    def body(self, x):
        y = x * len(self.err.args)
        self.err.args = (1, 2, 3)
        return y

    return Model(body, err=ValueError(1)), (t(3),)


@sound(STATE, "outside-object")
def exception_cause_assigned():
    def body(self, x):
        y = x * (1 if self.err.__cause__ is None else 2)
        self.err.__cause__ = KeyError()
        return y

    return Model(body, err=ValueError(1)), (t(3),)


@sound(STATE)
def exception_from_outside_is_raised():
    def body(self, x):
        z = x + 1
        try:
            raise self.err
        except ValueError as error:
            y = z * len(error.args)
        return y

    return Model(body, err=ValueError(1)), (t(3),)


@sound(STATE, "outside-object", "opaque-call")
def exception_context_chained():
    def body(self, x):
        try:
            try:
                raise KeyError(int(x.shape[0]))
            except KeyError:
                raise self.err  # noqa: B904
        except ValueError as error:
            return x * (1 if error.__context__ is None else 2)

    return Model(body, err=ValueError(1)), (t(3),)


@sound(STATE, "outside-object", "opaque-call")
def exception_note_added():
    def body(self, x):
        self.err.add_note("n")
        return x * len(self.err.__notes__)

    return Model(body, err=ValueError(1)), (t(3),)


@sound(STATE, "outside-object", "opaque-call")
def partial_state_set():
    def body(self, x):
        y = x * self.fn(1, 1)
        self.fn.__setstate__((max, (5,), {}, {}))
        return y

    return Model(body, fn=functools.partial(max, 1)), (t(3),)


@sound(STATE, "outside-object", "opaque-call")
def copied_state_is_its_own():
    def body(self, x):
        other = copy.deepcopy(self.obj)
        other.n += 1
        other.xs.append(1)
        return x * other.n * len(other.xs)

    return Model(body, obj=Plain(n=1, xs=[1])), (t(3),)


@refused(STATE)
def dataclass_field_replaced():
    import dataclasses

    @dataclasses.dataclass
    class Config:
        n: int = 1

    def body(self, x):
        self.cfg.n = dataclasses.replace(self.cfg, n=self.cfg.n + 1).n
        return x * self.cfg.n

    return Model(body, cfg=Config()), (t(3),)


@refused(STATE)
def frozen_dataclass_by_object_setattr():
    import dataclasses

    @dataclasses.dataclass(frozen=True)
    class Config:
        n: int = 1

    def body(self, x):
        object.__setattr__(self.cfg, "n", self.cfg.n + 1)
        return x * self.cfg.n

    return Model(body, cfg=Config()), (t(3),)


# ---- iterators, generators, locks, queues: objects with a state that no snapshot shows


@refused("outside-iterator")
def generator_from_outside():
    def numbers():
        yield from range(1, 100)

    def body(self, x):
        return x * next(self.it)

    return Model(body, it=numbers()), (t(3),)


@sound("outside-iterator")
def iterators_in_a_list_loop():
    def body(self, x):
        for it in self.its:
            x = x * next(it)
        return x

    return Model(body, its=[itertools.count(1), itertools.count(2)]), (t(3),)


@sound("outside-iterator")
def iterator_from_a_tuple_unpacked():
    def body(self, x):
        a, _ = self.its
        return x * next(a)

    return Model(body, its=(itertools.count(1), itertools.count(2))), (t(3),)


@sound("outside-iterator")
def iterator_from_dict_values():
    def body(self, x):
        for it in self.its.values():
            x = x * next(it)
        return x

    return Model(body, its={"a": itertools.count(1)}), (t(3),)


@sound("outside-iterator")
def iterator_bound_method():
    it = iter([1, 2, 3, 4, 5, 6, 7, 8])

    def body(self, x):
        return x * self.step()

    return Model(body, step=it.__next__), (t(3),)


@sound("outside-iterator")
def iterator_in_a_partial():
    def body(self, x):
        return x * self.step()

    return Model(body, step=functools.partial(next, itertools.count(1))), (t(3),)


@sound("outside-iterator")
def iterator_popped_from_a_list():
    def body(self, x):
        it = self.its.pop()
        x = x * next(it)
        self.its.append(it)
        return x

    return Model(body, its=[itertools.count(1)]), (t(3),)


@sound("outside-iterator")
def iterator_as_default():
    def body(self, x, it=itertools.count(1)):  # noqa: B008
        return x * next(it)

    return Model(body), (t(3),)


@sound("outside-iterator")
def iterator_zipped():
    def body(self, x):
        for _, n in zip([1], self.its[0]):
            x = x * n
        return x

    return Model(body, its=[itertools.count(1)]), (t(3),)


@sound("outside-iterator")
def iterator_by_getattr_and_get():
    def body(self, x):
        return x * next(self.table.get("it"))

    return Model(body, table={"it": itertools.count(1)}), (t(3),)


@sound("outside-iterator", "outside-object", "opaque-call")
def regular_expression_iterator():
    import re

    def body(self, x):
        return x * int(next(self.its[0]).group())

    return Model(body, its=[re.finditer(r"\d", "123456789")]), (t(3),)


@sound("outside-object", "opaque-call")
def simple_queue():
    def body(self, x):
        self.q.put(1)
        return x * self.q.qsize()

    return Model(body, q=queue.SimpleQueue()), (t(3),)


@sound("outside-object", "opaque-call", STATE)
def python_queue():
    def body(self, x):
        self.q.put(1)
        return x * self.q.qsize()

    return Model(body, q=queue.Queue()), (t(3),)


@sound("outside-object", "opaque-call", STATE)
def lock_is_left_locked():
    def body(self, x):
        taken = self.lock.acquire(blocking=False)
        return x * (2 if taken else 3)

    return Model(body, lock=threading.Lock()), (t(3),)


@equal
def lock_around_a_block():
    def body(self, x):
        with self.lock:
            y = x * 2
        return y

    return Model(body, lock=threading.RLock()), (t(3),)


@sound("outside-object", "opaque-call", STATE)
def thread_local_counter():
    def body(self, x):
        self.local.n = getattr(self.local, "n", 0) + 1
        return x * self.local.n

    return Model(body, local=threading.local()), (t(3),)


@sound("outside-object", "opaque-call", STATE)
def event_is_set():
    def body(self, x):
        y = x * (2 if self.event.is_set() else 3)
        self.event.set()
        return y

    return Model(body, event=threading.Event()), (t(3),)


@sound("outside-object", "opaque-call", STATE, "process-state")
def decimal_context():
    def body(self, x):
        y = x * decimal.getcontext().prec
        decimal.getcontext().prec += 1
        return y

    before = decimal.getcontext().prec
    decimal.getcontext().prec = 28
    assert before
    return Model(body), (t(3),)


@sound("outside-object", "opaque-call", STATE)
def text_buffer_from_outside():
    def body(self, x):
        self.buf.write("a")
        return x * len(self.buf.getvalue())

    return Model(body, buf=io.StringIO()), (t(3),)


@equal
def text_buffer_of_its_own():
    def body(self, x):
        buf = io.StringIO()
        buf.write("ab")
        return x * len(buf.getvalue())

    return Model(body), (t(3),)


@sound("unrecordable-value", "outside-object", "opaque-call")
def own_random_generator_from_outside():
    def body(self, x):
        return x * self.rng.random()

    return Model(body, rng=random.Random(3)), (t(3),)


@sound("unrecordable-value", "outside-object", "opaque-call", "global-rng")
def numpy_generator_from_outside():
    def body(self, x):
        return x * float(self.rng.random())

    return Model(body, rng=np.random.default_rng(3)), (t(3),)


@sound("unrecordable-value", "outside-object", "opaque-call", "global-rng")
def numpy_generator_integers():
    def body(self, x):
        return x * int(self.rng.integers(0, 1000))

    return Model(body, rng=np.random.default_rng(3)), (t(3),)


@sound("unrecordable-value", "outside-object", "opaque-call", "global-rng")
def numpy_random_state():
    def body(self, x):
        return x * float(self.rng.rand())

    return Model(body, rng=np.random.RandomState(3)), (t(3),)


@refused("outside-object")
def abc_registration():
    import abc

    class Base(abc.ABC):  # noqa: B024
        pass

    def body(self, x):
        y = x * (2 if issubclass(int, Base) else 3)
        Base.register(int)
        return y

    return Model(body), (t(3),)


@refused("outside-object")
def context_variable_reset_with_an_outside_token():
    import contextvars

    variable = contextvars.ContextVar("v", default=1)
    token = variable.set(2)

    def body(self, x):
        y = x * variable.get()
        if self.token is not None:
            variable.reset(self.token)
        return y

    return Model(body, token=token), (t(3),)


@equal
def context_run():
    import contextvars

    variable = contextvars.ContextVar("v", default=1)

    def inner(x):
        variable.set(3)
        return x * variable.get()

    def body(self, x):
        y = contextvars.copy_context().run(inner, x)
        return y * variable.get()

    return Model(body), (t(3),)
