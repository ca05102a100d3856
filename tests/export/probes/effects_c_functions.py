"""Writes by C functions that change an argument."""

# Programs as users write them, odd ones too.

from __future__ import annotations

import bisect
import collections
import functools
import heapq
import operator
import random

from ..probe import refused, sound, t
from .writers import STATE, Model

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
