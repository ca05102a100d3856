"""State in values of C types: sizes, ctypes fields, thread locals, contexts, arrays."""

from __future__ import annotations

import array
import contextvars
import ctypes
import datetime
import decimal
import fractions
import re
import threading
from typing import Any

import numpy as np
import torch

from tests.hostile.changes import Box, Changes, Module, item, row, setter


def _of(forward: Any, **more: Any) -> Changes:
    return Changes(Module(lambda s, x: x * forward(s), **more), {})


@row
def torch_size_kept() -> Changes:
    made = _of(lambda s: s.size[0] + len(s.size), size=torch.Size([3, 4]))
    made.told = {"item": setter(made.program.held, "size", torch.Size([5, 4]))}
    made.told |= {"length": setter(made.program.held, "size", torch.Size([3, 4, 1]))}
    return made


@row
def torch_size_iterated() -> Changes:
    made = _of(lambda s: sum(s.size), size=torch.Size([3, 4]))
    made.told = {"item": setter(made.program.held, "size", torch.Size([5, 4]))}
    return made


@row
def torch_size_compared() -> Changes:
    made = _of(lambda s: 2 if s.size == (3, 4) else 5, size=torch.Size([3, 4]))
    made.told = {"item": setter(made.program.held, "size", torch.Size([5, 4]))}
    made.held = {"equal": setter(made.program.held, "size", torch.Size([3, 4]))}
    return made


@row
def torch_size_in_a_list() -> Changes:
    made = _of(lambda s: s.sizes[0].numel(), sizes=[torch.Size([3, 4])])
    made.told = {"item": item(made.program.held.sizes, 0, torch.Size([5, 4]))}
    return made


@row
def torch_size_in_a_dict_of_a_tuple() -> Changes:
    made = _of(lambda s: s.sizes["a"][0][1], sizes={"a": (torch.Size([3, 4]),)})
    made.told = {"item": item(made.program.held.sizes, "a", (torch.Size([3, 5]),))}
    return made


@row
def torch_size_of_a_plain_tensor() -> Changes:
    made = _of(lambda s: s.t.shape[0], t=torch.ones(3, 4))
    made.told = {"tensor": setter(made.program.held, "t", torch.ones(5, 4))}
    return made


@row
def torch_device_and_finfo() -> Changes:
    made = _of(lambda s: len(s.device.type) + len(s.info.dtype), device=torch.device("cpu"), info=torch.finfo())
    made.told = {"device": setter(made.program.held, "device", torch.device("meta"))}
    made.told |= {"info": setter(made.program.held, "info", torch.finfo(torch.bfloat16))}
    return made


class _Point(ctypes.Structure):
    _fields_ = [("n", ctypes.c_int), ("m", ctypes.c_int)]


@row
def ctypes_field() -> Changes:
    made = _of(lambda s: s.p.n, p=_Point(3, 4))
    made.told = {"field": setter(made.program.held.p, "n", 5)}
    return made


@row
def ctypes_value() -> Changes:
    made = _of(lambda s: s.c.value, c=ctypes.c_int(3))
    made.told = {"value": setter(made.program.held.c, "value", 5)}
    return made


@row
def ctypes_array() -> Changes:
    made = _of(lambda s: s.c[1] + len(s.c), c=(ctypes.c_int * 3)(1, 2, 3))
    made.told = {"item": item(made.program.held.c, 1, 5)}
    return made


@row
def ctypes_pointer() -> Changes:
    point = _Point(3, 4)
    made = _of(lambda s: s.p.contents.n, p=ctypes.pointer(point), point=point)
    made.told = {"field": setter(point, "n", 5)}
    return made


@row
def ctypes_nested() -> Changes:
    class Line(ctypes.Structure):
        _fields_ = [("a", _Point)]

    made = _of(lambda s: s.p.a.m, p=Line(_Point(1, 2)))
    made.told = {"field": setter(made.program.held.p.a, "m", 5)}
    return made


@row
def thread_local() -> Changes:
    local = threading.local()
    local.n = 3
    made = _of(lambda s: s.local.n, local=local)
    made.told = {"value": setter(local, "n", 4)}
    return made


@row
def thread_local_missing() -> Changes:
    made = _of(lambda s: getattr(s.local, "n", 3), local=threading.local())
    made.told = {"value": setter(made.program.held.local, "n", 4)}
    return made


@row
def thread_local_of_a_subclass() -> Changes:
    class Local(threading.local):
        n = 3

    made = _of(lambda s: s.local.n, local=Local())
    made.told = {"value": setter(made.program.held.local, "n", 4), "class": setter(Local, "n", 5)}
    return made


@row
def thread_local_dict() -> Changes:
    local = threading.local()
    local.n = 3
    made = _of(lambda s: s.local.__dict__["n"], local=local)
    made.told = {"value": setter(local, "n", 4)}
    return made


@row
def decimal_context() -> Changes:
    def change(precision: int) -> Any:
        def make() -> Any:
            context = decimal.getcontext()
            before, context.prec = context.prec, precision
            return lambda: setattr(context, "prec", before)

        return make

    made = _of(lambda s: float(decimal.Decimal(1) / decimal.Decimal(3)))
    made.told = {"precision": change(2)}
    return made


@row
def decimal_context_read() -> Changes:
    def change() -> Any:
        context = decimal.getcontext()
        before, context.prec = context.prec, 5
        return lambda: setattr(context, "prec", before)

    made = _of(lambda s: decimal.getcontext().prec)
    made.told = {"precision": change}
    return made


@row
def decimal_context_set() -> Changes:
    def change() -> Any:
        before = decimal.getcontext()
        decimal.setcontext(decimal.Context(prec=3))
        return lambda: decimal.setcontext(before)

    made = _of(lambda s: float(s.a + s.a), a=decimal.Decimal("1.23456789"))
    made.told = {"context": change}
    return made


@row
def decimal_rounding_by_a_method() -> Changes:
    def change() -> Any:
        before = decimal.getcontext()
        decimal.setcontext(decimal.Context(rounding=decimal.ROUND_UP))
        return lambda: decimal.setcontext(before)

    made = _of(lambda s: int(s.a.quantize(decimal.Decimal(1))), a=decimal.Decimal("2.4"))
    made.told = {"context": change}
    return made


@row
def decimal_under_a_local_context() -> Changes:
    def f(s: Any) -> Any:
        with decimal.localcontext(decimal.Context(prec=4)):
            return float(s.a / 3)

    made = _of(f, a=decimal.Decimal(2))
    made.told = {"value": setter(made.program.held, "a", decimal.Decimal(5))}
    return made


@row
def decimal_value() -> Changes:
    made = _of(lambda s: int(s.a), a=decimal.Decimal(2))
    made.told = {"value": setter(made.program.held, "a", decimal.Decimal(5))}
    made.held = {"equal": setter(made.program.held, "a", decimal.Decimal(2))}
    return made


@row
def decimal_digits() -> Changes:
    made = _of(lambda s: len(str(s.a)), a=decimal.Decimal("2.0"))
    made.told = {"digits": setter(made.program.held, "a", decimal.Decimal("2.00"))}
    return made


@row
def context_variable_of_a_module() -> Changes:
    made = _of(lambda s: s.v.get(3), v=contextvars.ContextVar("v"))
    made.told = {"set": lambda: made.program.held.v.set(4) and None}
    return made


@row
def context_variables_copied() -> Changes:
    variable = contextvars.ContextVar("v", default=3)
    made = _of(lambda s: contextvars.copy_context().run(s.v.get), v=variable)
    made.told = {"set": lambda: variable.set(4) and None}
    return made


@row
def numpy_object_array_item() -> Changes:
    cells = np.empty(2, dtype=object)
    cells[0], cells[1] = Box(n=3), 4
    made = _of(lambda s: s.cells[0].n + s.cells[1], cells=cells)
    made.told = {"attribute": setter(cells[0], "n", 5), "item": item(cells, 1, 9), "object": item(cells, 0, Box(n=7))}
    return made


@row
def numpy_object_array_iterated() -> Changes:
    made = _of(lambda s: sum(box.n for box in s.cells), cells=np.array([Box(n=3), Box(n=4)], dtype=object))
    made.told = {"attribute": setter(made.program.held.cells[0], "n", 5)}
    return made


@row
def numpy_object_array_to_list() -> Changes:
    made = _of(lambda s: s.cells.tolist()[1].n, cells=np.array([Box(n=3), Box(n=4)], dtype=object))
    made.told = {"attribute": setter(made.program.held.cells[1], "n", 5)}
    return made


@row
def numpy_array_item() -> Changes:
    made = _of(lambda s: int(s.a[1]), a=np.array([3, 4]))
    made.told = {"item": item(made.program.held.a, 1, 9)}
    return made


@row
def numpy_array_shape() -> Changes:
    made = _of(lambda s: s.a.shape[0], a=np.arange(6))
    made.told = {"shape": setter(made.program.held.a, "shape", (2, 3))}
    return made


@row
def numpy_structured_array() -> Changes:
    made = _of(lambda s: int(s.a["n"][0]), a=np.array([(3, 4)], dtype=[("n", int), ("m", int)]))
    made.told = {"item": lambda: made.program.held.a["n"].__setitem__(0, 9)}
    return made


@row
def numpy_masked_array() -> Changes:
    made = _of(lambda s: float(s.a.sum()), a=np.ma.array([1.0, 2.0], mask=[False, True]))
    made.told = {"mask": lambda: made.program.held.a.__setattr__("mask", [True, False])}
    return made


@row
def bytes_like_objects() -> Changes:
    made = _of(
        lambda s: s.a[0] + s.b[0] + s.m[0], a=array.array("i", [3]), b=bytearray(b"a"), m=memoryview(bytearray(b"b"))
    )
    held = made.program.held
    made.told = {"array": item(held.a, 0, 5), "bytearray": item(held.b, 0, 5), "view": item(held.m, 0, 5)}
    return made


@row
def dates_and_patterns() -> Changes:
    made = _of(
        lambda s: s.d.day + (2 if s.p.match("ab") else 3) + s.f.numerator,
        d=datetime.date(2020, 1, 2),
        p=re.compile("a"),
        f=fractions.Fraction(3, 4),
    )
    held = made.program.held
    made.told = {
        "date": setter(held, "d", datetime.date(2020, 1, 3)),
        "pattern": setter(held, "p", re.compile("b")),
        "fraction": setter(held, "f", fractions.Fraction(5, 4)),
    }
    return made


@row
def pattern_flags() -> Changes:
    made = _of(lambda s: 2 if s.p.match("A") else 3, p=re.compile("a"))
    made.told = {"flags": setter(made.program.held, "p", re.compile("a", re.IGNORECASE))}
    return made


@row
def tensor_attributes() -> Changes:
    tensor = torch.nn.Parameter(torch.ones(3))
    tensor.scale = [3]  # type: ignore[attr-defined]
    made = _of(lambda s: s.t.scale[0] * s.t, t=tensor)
    made.told = {"item": item(tensor.scale, 0, 4), "requires_grad": setter(tensor, "data", torch.ones(3).double())}
    return made
