"""Objects with a state that no snapshot shows: iterators, generators, locks, queues."""

# Programs as users write them, odd ones too.

from __future__ import annotations

import decimal
import functools
import io
import itertools
import queue
import random
import threading

import numpy as np

from ..probe import equal, refused, sound, t
from .writers import STATE, Model

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


@refused("lock-held")
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
