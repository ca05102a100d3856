"""Functions, arguments, closures, generators, comprehensions."""

# Programs as users write them, odd ones too.
# ruff: noqa: B006, B023

from __future__ import annotations

import inspect
import sys
import traceback

import torch

from ..probe import equal, raises, refused, t


@equal
def generator_in_for():
    def parts(x, n):
        for i in range(n):
            yield x * i

    def forward(x):
        total = torch.zeros_like(x)
        for part in parts(x, 4):
            total = total + part
        return total

    return forward, (t(3),)


@equal
def generator_send_and_return():
    def averager(x):
        total, n = x, 1
        while n < 4:
            got = yield total / n
            if got is None:
                return "early"
            total, n = total + got, n + 1
        return total

    def forward(x):
        it = averager(x)
        first = next(it)
        second = it.send(first * 2)
        it.send(second)
        try:
            it.send(x)
        except StopIteration as stop:
            return stop.value, first
        return None

    return forward, (t(3),)


@equal
def yield_from_value():
    def inner(x):
        yield x + 1
        return x * 2

    def outer(x):
        doubled = yield from inner(x)
        yield doubled

    def forward(x):
        return tuple(outer(x))

    return forward, (t(2, 2),)


@equal
def generator_throw_is_caught():
    def worker(x):
        try:
            yield x
        except ValueError:
            yield x * 10

    def forward(x):
        it = worker(x)
        a = next(it)
        return a + it.throw(ValueError("now"))

    return forward, (t(3),)


@equal
def generator_close_runs_finally():
    def worker(x, log):
        try:
            yield x
            yield x + 1
        finally:
            log.append(x * 5)

    def forward(x):
        log = []
        it = worker(x, log)
        a = next(it)
        it.close()
        return a + log[0]

    return forward, (t(3),)


@equal
def generator_expression_consumed_by_c():
    def forward(x):
        return sum(x * i for i in range(3)) + max(v.numel() for v in (x, x[:1]))

    return forward, (t(4),)


@equal
def infinite_generator_is_cut():
    import itertools

    def powers(x):
        while True:
            yield x
            x = x * x

    def forward(x):
        return torch.stack(list(itertools.islice(powers(x), 3)))

    return forward, (t(3),)


@equal
def closure_reads_and_writes_own_cell():
    def forward(x):
        total = x

        def add(y):
            nonlocal total
            total = total + y
            return total

        for i in range(3):
            add(x * i)
        return total

    return forward, (t(3),)


@equal
def closure_made_in_loop_sees_last_value():
    def forward(x):
        fs = [lambda y: y * i for i in range(3)]
        return [f(x) for f in fs]

    return forward, (t(3),)


@equal
def closure_default_freezes_value():
    def forward(x):
        fs = [lambda y, i=i: y * i for i in range(3)]
        return {i: f(x) for i, f in enumerate(fs)}

    return forward, (t(3),)


@equal
def recursive_closure():
    def forward(x, depth=3):
        def go(y, n):
            return y if n == 0 else go(y.sin(), n - 1)

        return go(x, depth)

    return forward, (t(3),)


@equal
def captured_tensor_in_closure():
    w = t(3)

    def forward(x):
        return x * w

    return forward, (t(3),)


@equal
def all_kinds_of_parameters():
    def f(a, b, /, c, d=2.0, *rest, e, g=4.0, **more):
        return a + b * c + d + sum(rest) + e * g + sum(more.values())

    def forward(x):
        return f(x, 1.0, x, 3.0, x, x, e=x, z=x) + f(x, 1.0, c=2.0, e=x)

    return forward, (t(3),)


@equal
def star_call_with_many_unpackings():
    def f(*args, **kwargs):
        return sum(args) * kwargs["p"] - kwargs["q"]

    def forward(x):
        xs, more = [x, x + 1], {"p": x}
        return f(*xs, x, *(i for i in range(2)), **more, q=x)

    return forward, (t(3),)


@raises
def missing_argument():
    def f(a, b, *, c):
        return a

    def forward(x):
        return f(x, c=1)

    return forward, (t(3),)


@raises
def unexpected_keyword():
    def f(a):
        return a

    def forward(x):
        return f(x, b=1)

    return forward, (t(3),)


@equal
def argument_error_is_caught():
    def f(a, b):
        return a

    def forward(x):
        try:
            return f(x)
        except TypeError as error:
            return x + len(str(error))

    return forward, (t(3),)


@equal
def mutable_default_not_changed():
    def f(x, scale=[2.0, 3.0]):
        return x * scale[0] + scale[1]

    return f, (t(3),)


@refused("python-state")
def mutable_default_grows():
    def f(x, seen=[]):
        seen.append(1)
        return x * len(seen)

    def forward(x):
        return f(x)

    return forward, (t(3),)


@equal
def nested_comprehensions():
    def forward(x):
        rows = [[x[i] * j for j in range(3) if j != 1] for i in range(2)]
        table = {(i, j): cell for i, row in enumerate(rows) for j, cell in enumerate(row)}
        return torch.stack([table[k] for k in sorted(table)]), sorted({i * 2 for i in range(3)})

    return forward, (t(2, 2),)


@equal
def walrus_in_comprehension():
    def forward(x):
        kept = [y for i in range(4) if (y := i * i) > 1]
        return x * y + sum(kept)

    return forward, (t(3),)


@equal
def chained_comparison_and_assignment():
    def forward(x):
        a = b = x.shape[0]
        return x * 2 if 1 < a <= b < 10 else x

    return forward, (t(3),)


@equal
def star_unpacking():
    def forward(x):
        first, *middle, (last, also) = [x, x + 1, x + 2, (x + 3, x + 4)]
        return [first, *middle, last * also], {**{"a": x}, "b": first}

    return forward, (t(3),)


@equal
def frames_asked_for_by_the_standard_library():
    def helper():
        frame = inspect.currentframe()
        names = [info.function for info in inspect.stack()[:2]], [row.name for row in traceback.extract_stack(limit=2)]
        outer = inspect.getouterframes(frame)[1].function, frame.f_back.f_code.co_name, inspect.getframeinfo(frame)[2]
        text = traceback.format_stack()[-2].splitlines()[0].rpartition(" ")[2]
        walked = [row.f_code.co_name for row, _ in traceback.walk_stack(frame)][:2]
        variables = sorted(inspect.getargvalues(frame).locals)[:2]
        return names, outer, text, walked, variables, sys._getframe(1) is frame.f_back

    def forward(x):
        return x, helper(), inspect.currentframe().f_code.co_name

    return forward, (t(3),)
