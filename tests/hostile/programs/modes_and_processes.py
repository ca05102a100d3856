"""Dispatch modes, trace functions, warnings, hooks of the process, executors, exit stacks."""

# ruff: noqa: E741

from __future__ import annotations

import concurrent.futures
import contextlib
import functools
import gc
import multiprocessing
import random
import sys
import weakref

import torch
from torch import nn

from tests.export.probe import equal, refused, t


class Base(nn.Module):
    def __init__(self, **attributes):
        super().__init__()
        for name, value in attributes.items():
            setattr(self, name, value)



@equal
def tensor_methods_identity():
    want = [
        torch.Tensor.add,
        torch.add,
        nn.Module.__call__,
        torch.Tensor.__getitem__,
        isinstance,
        next,
        id,
        hash,
        random.random,
        print,
        torch.nn.functional.relu,
        nn.Module.__setattr__,
        functools.reduce,
        gc.collect,
        weakref.ref,
    ]
    def f(x):
        now = [
            torch.Tensor.add,
            torch.add,
            nn.Module.__call__,
            torch.Tensor.__getitem__,
            isinstance,
            next,
            id,
            hash,
            random.random,
            print,
            torch.nn.functional.relu,
            nn.Module.__setattr__,
            functools.reduce,
            gc.collect,
            weakref.ref,
        ]
        return x * sum((a is b for a, b in zip(want, now)))

    return (f, (t(3),))


@equal
def modes_seen():
    def f(x):
        return x * (1 + len(torch.overrides._get_current_function_mode_stack()))

    return (f, (t(3),))


@equal
def is_scripting_tracing():
    def f(x):
        return x * (1 + torch.jit.is_scripting() + torch.jit.is_tracing())

    return (f, (t(3),))


@equal
def settrace_read():
    def f(x):
        return x * (1 + (sys.gettrace() is not None) + (sys.getprofile() is not None))

    return (f, (t(3),))


@equal
def warnings_filters_read():
    import warnings
    n = len(warnings.filters)
    def f(x):
        return x * (len(warnings.filters) == n)

    return (f, (t(3),))


@equal
def excepthook_threads():
    def f(x):
        return x * (sys.excepthook is sys.__excepthook__)

    return (f, (t(3),))


@equal
def module_dict_seen():
    class M(Base):
        def forward(self, x):
            return (x * len(self.__dict__) * len(type(self).__mro__), sorted(self.__dict__))


    return (M(a=1), (t(3),))


@equal
def forward_hooks_seen():
    class M(Base):
        def forward(self, x):
            return (
                x + len(nn.modules.module._global_forward_hooks) + len(self._forward_hooks)
                + len(nn.modules.module._global_module_registration_hooks)
            )


    return (M(a=1), (t(3),))


@equal
def concurrent_future_made():
    def f(x):
        fu = concurrent.futures.Future()
        fu.set_result(3)
        return x * fu.result()

    return (f, (t(3),))


@refused('outside-world')
def multiprocessing_lock():
    l = multiprocessing.Lock()
    def f(x):
        with l:
            return x * 2

    return (f, (t(3),))


@equal
def exitstack_callbacks():
    def f(x):
        log = []
        with contextlib.ExitStack() as s:
            s.callback(log.append, 1)
            s.callback(log.append, 2)
            s.push(lambda *a: True)
            raise ValueError
        return x * log[0] + log[1]

    return (f, (t(3),))


@refused('python-state')
def contextmanager_reused():
    class C(contextlib.ContextDecorator):
        n = 0
        def __enter__(self):
            self.n += 1
            return self

        def __exit__(self, *a):
            return False


    c = C()
    @c
    def g(x):
        return x * c.n

    def f(x):
        return g(x)

    return (f, (t(3),))


@refused('outside-iterator')
def generator_outside_gi_running():
    def g():
        yield 1

    it = g()
    def f(x):
        return x * (1 + it.gi_running + (it.gi_frame is None))

    return (f, (t(3),))

