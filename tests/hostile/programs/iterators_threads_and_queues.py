"""Iterators from before the call, threads, queues, finalizers, signals, StopIteration."""

# ruff: noqa: E742, RUF059

from __future__ import annotations

import atexit
import collections
import copy
import io
import itertools
import queue
import signal
import threading
import weakref

from torch import nn

from tests.export.probe import equal, raises, refused, t


class Base(nn.Module):
    def __init__(self, **attributes):
        super().__init__()
        for name, value in attributes.items():
            setattr(self, name, value)



@equal
def gen_made_in_forward_kept():
    class M(Base):
        def forward(self, x):
            self.g = (i for i in range(3))
            return x * next(self.g)


    return (M(), (t(3),))


@equal
def gen_made_in_forward_passed():
    def use(g):
        return next(g) + next(g)

    def f(x):
        g = (i for i in range(3))
        return x * use(g) + next(g)

    return (f, (t(3),))


@refused('outside-iterator')
def gen_from_outside():
    g = itertools.count()
    def f(x):
        return x * next(g)

    return (f, (t(3),))


@refused('outside-iterator')
def gen_copied_iterator():
    it = iter([1, 2, 3, 4, 5, 6, 7, 8])
    def f(x):
        return x * next(copy.copy(it))

    return (f, (t(3),))


@refused('outside-iterator')
def gen_copied_count():
    it = itertools.count(3)
    def f(x):
        c = copy.deepcopy(it)
        return x * next(c) * next(c)

    return (f, (t(3),))


@equal
def gen_tee():
    def f(x):
        a, b = itertools.tee(range(3))
        return x * (sum(a) + sum(b))

    return (f, (t(3),))


@refused('outside-iterator')
def gen_tee_outside():
    a, b = itertools.tee(range(50))
    def f(x):
        return x * next(a)

    return (f, (t(3),))


@refused('outside-iterator')
def gen_cycle_kept():
    class M(Base):
        def forward(self, x):
            return x * next(self.c)


    return (M(c=itertools.cycle([1, 2])), (t(3),))


@refused('outside-iterator')
def gen_outside_closed():
    def g():
        yield 1

    it = g()
    def f(x):
        it.close()
        return x

    return (f, (t(3),))


@refused('outside-iterator')
def gen_outside_repr_only():
    it = iter([1, 2])
    def f(x):
        return x * (it is not None) + isinstance(it, collections.abc.Iterator)

    return (f, (t(3),))


@refused('outside-iterator')
def gen_list_iterator_hint():
    it = iter([1, 2])
    def f(x):
        return x * it.__length_hint__()

    return (f, (t(3),))


@refused('outside-object')
def gen_file_like():
    s = io.StringIO('a\nb\nc\nd\ne\n')
    def f(x):
        return x * len(s.readline())

    return (f, (t(3),))


@refused('outside-iterator')
def gen_made_in_init_used_once():
    class M(Base):
        def forward(self, x):
            if self.g is not None:
                self.v = next(self.g)
                self.g = None
            return x * self.v


    return (M(g=iter([4])), (t(3),))


@refused('background-code')
def thread_made_not_started():
    def f(x):
        threading.Thread(target=print)
        return x

    return (f, (t(3),))


@equal
def thread_current():
    def f(x):
        return (x * len(threading.current_thread().name), threading.active_count() > 0)

    return (f, (t(3),))


@equal
def thread_local_state():
    loc = threading.local()
    loc.n = 2
    def f(x):
        return x * loc.n

    return (f, (t(3),))


@refused('python-state')
def thread_local_counter():
    loc = threading.local()
    loc.n = 2
    def f(x):
        loc.n += 1
        return x * loc.n

    return (f, (t(3),))


@refused('python-state')
def queue_put_get_outside():
    q = queue.Queue()
    def f(x):
        q.put(x * 2)
        return q.get()

    return (f, (t(3),))


@equal
def queue_empty_get():
    def f(x):
        q = queue.Queue()
        try:
            q.get_nowait()
        except queue.Empty:
            return x * 2

    return (f, (t(3),))


@equal
def queue_size_outside():
    q = queue.Queue()
    q.put(3)
    def f(x):
        return x * q.qsize()

    return (f, (t(3),))


@refused('outside-object')
def simple_queue():
    q = queue.SimpleQueue()
    def f(x):
        q.put(x)
        return q.get() * 2

    return (f, (t(3),))


@equal
def priority_queue_made():
    def f(x):
        q = queue.PriorityQueue()
        for i in (3, 1, 2):
            q.put((i, i * i))
        return x * q.get()[1]

    return (f, (t(3),))


@refused('new-state-tensor')
def deque_outside():
    q = collections.deque(maxlen=2)
    def f(x):
        q.append(x)
        return sum(q)

    return (f, (t(3),))


@equal
def finalize_outside_called():
    class O:
        pass

    o = O()
    log = []
    fin = weakref.finalize(o, log.append, 1)
    def f(x):
        fin()
        return x * len(log)

    return (f, (t(3),))


@equal
def finalize_alive():
    class O:
        pass

    o = O()
    fin = weakref.finalize(o, print)
    def f(x):
        return x * fin.alive

    return (f, (t(3),))


@refused('process-state')
def atexit_register():
    def f(x):
        atexit.register(print)
        return x

    return (f, (t(3),))


@refused('process-state')
def signal_handler():
    def f(x):
        signal.getsignal(signal.SIGINT)
        return x

    return (f, (t(3),))


@equal
def raise_stop_iteration_nested():
    def g(x):
        raise StopIteration(5)

    def f(x):
        try:
            g(x)
        except StopIteration as e:
            return x * e.value

    return (f, (t(3),))


@equal
def stop_iteration_in_getitem_protocol():
    class S:
        def __getitem__(self, i):
            if i > 2:
                raise StopIteration
            return i


    def f(x):
        return x * len(list(S()))

    return (f, (t(3),))


@raises
def stop_iteration_in_next_of_for():
    class S:
        def __iter__(self):
            return self

        def __next__(self):
            raise StopIteration


    def f(x):
        for _ in S():
            pass
        else:
            x = x + 1
        return (x, next(S()))

    return (f, (t(3),))


@raises
def stop_iteration_in_comprehension():
    def f(x):
        return x + sum([next(iter([])) for _ in range(2)])

    return (f, (t(3),))


@raises
def instancecheck_recursion():
    class Meta(type):
        def __instancecheck__(cls, o):
            return isinstance(o, cls)


    class A(metaclass=Meta):
        pass

    def f(x):
        return x * isinstance(3, A)

    return (f, (t(3),))

