"""Locks, threads, processes, event loops and finalizers"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import multiprocessing
import queue
import socket
import subprocess
import threading
import time
import weakref
from typing import Any

from torch import nn

from tests.export.probe import equal, refused, t


class _Holding(nn.Module):
    """`body` is given what `make` made in __init__, and the input."""

    def __init__(self, make: Any, body: Any) -> None:
        super().__init__()
        self.held = [make()]
        self.body = body

    def forward(self, x: Any) -> Any:
        return self.body(self.held[0], x)


def _twice(held: Any, x: Any) -> Any:
    with held:
        return x * 2


@equal
def lock_around_forward():
    return _Holding(threading.Lock, _twice), (t(3),)


@equal
def reentrant_lock_taken_twice():
    return _Holding(threading.RLock, lambda lock, x: _twice(lock, _twice(lock, x))), (t(3),)


@equal
def semaphore():
    return _Holding(lambda: threading.Semaphore(2), _twice), (t(3),)


@equal
def condition_notified():
    def f(condition, x):
        with condition:
            condition.notify_all()
            return x * 2

    return _Holding(lambda: threading.Condition(threading.Lock()), f), (t(3),)


@equal
def condition_that_times_out():
    def f(condition, x):
        with condition:
            return x * (2 if condition.wait(0.01) else 3)

    return _Holding(threading.Condition, f), (t(3),)


@equal
def event_asked():
    return _Holding(threading.Event, lambda event, x: x * (2 if event.is_set() else 3)), (t(3),)


@equal
def event_that_times_out():
    return _Holding(threading.Event, lambda event, x: x * (2 if event.wait(0.01) else 3)), (t(3),)


@equal
def event_made_and_set():
    def f(x):
        event = threading.Event()
        event.set()
        return x * (2 if event.wait() else 3)

    return f, (t(3),)


@equal
def lock_made_and_kept():
    def f(x):
        lock = threading.Lock()
        return x * (2 if lock.acquire() else 3)

    return f, (t(3),)


@equal
def own_lock_asked_twice():
    def f(x):
        lock = threading.Lock()
        return x * (lock.acquire() + 2 * lock.acquire(False) + 4 * lock.acquire(timeout=0.01))

    return f, (t(3),)


@equal
def queue_made_in_forward():
    def f(x):
        tasks: Any = queue.Queue()
        tasks.put(x)
        return tasks.get() * 2

    return f, (t(3),)


@equal
def sleep():
    def f(x):
        time.sleep(0.001)
        return x * 2

    return f, (t(3),)


@equal
def coroutine_driven_by_hand():
    async def double(x):
        return x * 2

    def f(x):
        try:
            double(x).send(None)
        except StopIteration as done:
            return done.value

    return f, (t(3),)


@refused("lock-held")
def lock_not_released():
    def f(lock, x):
        lock.acquire(timeout=0.01)
        return x * 2

    return _Holding(threading.Lock, f), (t(3),)


@refused("lock-held")
def lock_tried_and_kept():
    return _Holding(threading.Lock, lambda lock, x: x * (2 if lock.acquire(False) else 3)), (t(3),)


@refused("lock-held")
def lock_of_others_released():
    def make():
        lock = threading.Lock()
        lock.acquire()
        return lock

    def f(lock, x):
        if lock.locked():
            lock.release()
        return x * 2

    return _Holding(make, f), (t(3),)


@refused("lock-held")
def reentrant_lock_kept():
    return _Holding(threading.RLock, lambda lock, x: x * lock.acquire()), (t(3),)


@refused("python-state")
def queue_from_outside():
    def make():
        tasks: Any = queue.Queue()
        for number in range(9):
            tasks.put(number)
        return tasks

    return _Holding(make, lambda tasks, x: x * tasks.get()), (t(3),)


@refused("background-code")
def thread():
    def f(x):
        results: list[Any] = []
        worker = threading.Thread(target=lambda: results.append(x * 2))
        worker.start()
        worker.join()
        return results[0]

    return f, (t(3),)


@refused("background-code")
def timer():
    def f(x):
        later = threading.Timer(0.01, print)
        later.cancel()
        return x * 2

    return f, (t(3),)


@refused("background-code")
def thread_pool():
    def f(x):
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            return pool.submit(lambda: x * 2).result()

    return f, (t(3),)


@refused("background-code")
def event_loop():
    async def double(x):
        await asyncio.sleep(0)
        return x * 2

    def f(x):
        work = double(x)
        try:
            return asyncio.run(work)
        finally:
            work.close()

    return f, (t(3),)


@refused("background-code")
def new_event_loop():
    def f(x):
        loop = asyncio.new_event_loop()
        loop.close()
        return x * 2

    return f, (t(3),)


@refused("background-code")
def pool_of_processes():
    def f(x):
        with multiprocessing.Pool(1) as pool:
            return x * pool.map(abs, [-2])[0]

    return f, (t(3),)


@refused("background-code")
def command():
    def f(x):
        return x * len(subprocess.run(["true"], capture_output=True, check=True).stdout)

    return f, (t(3),)


@refused("background-code")
def finalizer():
    class Held:
        pass

    def f(x):
        seen: list[int] = []
        held = Held()
        weakref.finalize(held, seen.append, 1)
        del held
        return x * len(seen)

    return f, (t(3),)


@refused("outside-world")
def sockets():
    def f(x):
        socket.socket().close()
        return x * 2

    return f, (t(3),)


@refused("global-state")
def context_variable_left_set():
    return _Holding(lambda: contextvars.ContextVar("held", default=1), _set_and_count), (t(3),)


def _set_and_count(variable: Any, x: Any) -> Any:
    variable.set(variable.get() + 1)
    return x * variable.get()
