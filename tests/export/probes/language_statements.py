"""Statements: comprehensions, match, loops, eval, programs that are no plain function."""

# Programs as users write them, odd ones too.
# ruff: noqa: SIM222
# ruff: noqa: F821

from __future__ import annotations

import torch
from torch import nn

from ...stack import needs_deep_stack
from ..probe import Case, equal, raises, refused, sound, t


@equal
def loop_else_break_continue():
    def forward(x):
        out = []
        for i in range(10):
            if i % 2:
                continue
            if i > 6:
                break
            out.append(x * i)
        else:
            out.append("never")
        while out:
            last = out.pop()
            if last is x:
                break
        else:
            last = last + 1
        return last

    return forward, (t(3),)


@equal
def match_statement():
    class Point:
        __match_args__ = ("a", "b")

        def __init__(self, a, b):
            self.a, self.b = a, b

    def pick(value):
        match value:
            case {"kind": "add", "value": v, **rest}:
                return v + len(rest)
            case [first, *_, last] if len(value) > 2:
                return first - last
            case Point(a, b=torch.Tensor() as b):
                return a * b
            case int() | float() as number:
                return torch.full((3,), float(number))
            case _:
                return None

    def forward(x):
        return [pick(v) for v in ({"kind": "add", "value": x, "more": 1}, [x, 1, x * 2], Point(x, x), 3, "s")]

    return forward, (t(3),)


@equal
def decorators_and_wraps():
    import functools

    def scaled(by):
        def decorate(fn):
            @functools.wraps(fn)
            def inner(*args, **kwargs):
                return fn(*args, **kwargs) * by

            return inner

        return decorate

    @scaled(2)
    @scaled(3)
    def f(x):
        return x + 1

    return f, (t(3),)


@equal
def lambda_and_conditional_expressions():
    def forward(x, flag=True):
        pick = (lambda a, b: a - b) if flag else (lambda a, b: a + b)
        return pick(x, 2 * x) + (0 or 5)

    return forward, (t(1),)


@equal
def deep_recursion():
    needs_deep_stack(2000)

    def forward(x):
        def down(n):
            return x if n == 0 else down(n - 1)

        return down(200) + 1

    return forward, (t(3),)


@raises
def endless_recursion():
    def forward(x):
        def down(y):
            return down(y)

        return down(x)

    return forward, (t(3),)


@equal
def recursion_error_is_caught():
    def forward(x):
        def down(n):
            return down(n + 1)

        try:
            down(0)
        except RecursionError:
            return x * 2
        return x

    return forward, (t(3),)


@equal
def eval_exec_and_locals():
    def forward(x):
        y = eval("x * 2", {"x": x})
        space = {}
        exec("def g(a):\n    return a - 1\n", space)
        a, b = 1, 2
        names = sorted(n for n in locals() if len(n) == 1 and n in "ab")
        return space["g"](y) + len(names) + a + b

    return forward, (t(3),)


@equal
def imports_inside_forward():
    def forward(x):
        import math
        from math import pi as number

        import torch.nn.functional as F

        return F.relu(x) * math.floor(number)

    return forward, (t(3),)


@equal
def del_local_and_unbound():
    def forward(x):
        y = x + 1
        z = y * 2
        del y
        try:
            return y
        except UnboundLocalError:
            return z

    return forward, (t(3),)


@refused("async-forward", "unsupported-value")
def async_forward():
    async def forward(x):
        return x + 1

    return forward, (t(3),)


@equal
def coroutine_driven_by_hand():
    async def work(x):
        return x * 2

    def forward(x):
        job = work(x)
        try:
            job.send(None)
        except StopIteration as stop:
            return stop.value
        return x

    return forward, (t(3),)


@equal
def assert_holds():
    def forward(x):
        assert x.shape[0] == 3, f"got {x.shape}"
        assert isinstance(x, torch.Tensor)
        return x + 1

    return forward, (t(3),)


@raises
def assert_fails():
    def forward(x):
        assert x.dim() == 2, "two dimensions"
        return x + 1

    return forward, (t(3),)


@equal
def function_attributes_read():
    def forward(x):
        return x * forward.scale

    forward.scale = 4.0
    return forward, (t(3),)


@refused("python-state")
def function_attribute_counts():
    def forward(x):
        forward.calls += 1
        return x * forward.calls

    forward.calls = 0
    return forward, (t(3),)


@refused("python-state")
def closure_counter():
    n = 0

    def forward(x):
        nonlocal n
        n += 1
        return x * n

    return forward, (t(3),)


@sound("new-state-tensor")
def closure_keeps_running_tensor():
    state = torch.zeros(3)

    def forward(x):
        nonlocal state
        state = state + x
        return state * 1

    return forward, (t(3),)


@equal
def bound_method_as_program():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.lin = nn.Linear(3, 2)

        def other(self, x, scale=2.0):
            return self.lin(x) * scale

    return M().other, (t(4, 3),)


@equal
def callable_object_as_program():
    class Scale:
        def __init__(self, by):
            self.by = by
            self.w = torch.ones(3)

        def __call__(self, x):
            return x * self.by + self.w

    return Scale(3.0), (t(3),)


@equal
def partial_as_program():
    import functools

    def f(a, x, *, b):
        return a * x + b

    return functools.partial(f, 2.0, b=1.0), (t(3),)


@equal
def tensor_method_and_operator_functions():
    import operator

    def forward(x):
        f = torch.Tensor.add
        g = x.mul
        return operator.matmul(f(x, 1), g(2)) + operator.methodcaller("sum", 0)(x)

    return forward, (t(3, 3),)


@equal
def arguments_of_other_python_values():
    def forward(x, n, mode, flag, nothing=None):
        y = x * n if flag else x
        return y.sum() if mode == "sum" else y

    return Case(forward, (t(3), 4, "sum", True))
