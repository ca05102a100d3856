"""Tensors, arrays and buffers of Python on the memory of a parameter or buffer"""

from __future__ import annotations

import array
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import nn

from tests.export.probe import Case, Probe, equal, refused, t

W, B = "w", "b"


class Holder(nn.Module):
    """A parameter `w`, buffers `b` and `c`, and what `init` makes of them; `run` is its forward."""

    def __init__(self, init: Callable[[Any], Any], run: Callable[..., Any]) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.randn(3, 4))
        self.register_buffer("b", torch.randn(3, 4))
        self.register_buffer("c", torch.randn(4), persistent=False)
        self.v = init(self)
        self._run = run

    def forward(self, *args: Any) -> Any:
        return self._run(self, *args)


def case(init: Callable[[Any], Any], run: Callable[..., Any], *args: Any, **options: Any) -> Case:
    return Case(Holder(init, run), args or (t(4),), **options)


def changed_before(m: Any, x: torch.Tensor) -> torch.Tensor:
    m.b.add_(1)
    return x + m.v


VIEWS: dict[str, Callable[[Any], torch.Tensor]] = {
    "row": lambda m: m.b[0],
    "element": lambda m: m.b[1, 2],
    "data": lambda m: m.b.data,
    "detach": lambda m: m.b.detach(),
    "itself": lambda m: m.b.view(3, 4),
    "transposed": lambda m: m.b.t()[:, 0],
    "column": lambda m: m.b[:, 1:2].t()[:, :1],
    "every_third": lambda m: m.b.view(-1)[::3],
    "steps_in_two_dimensions": lambda m: m.b[::2, 1::2][:, :1],
    "diagonal": lambda m: m.b.diagonal()[:1],
    "flat": lambda m: m.b.view(-1)[2:6],
    "expanded": lambda m: m.b[1, 1].expand(4),
    "expanded_row": lambda m: m.b[1].expand(2, 4),
    "strided": lambda m: m.b.as_strided((2, 4), (5, 1), 1),
    "windows": lambda m: m.b.view(-1).unfold(0, 4, 2),
    "other_dtype": lambda m: m.b.view(torch.int32)[0],
    "bytes": lambda m: m.b.view(torch.uint8)[0, 4:8],
    "complex": lambda m: torch.view_as_complex(m.b.view(6, 2))[:4],
    "imaginary": lambda m: torch.view_as_complex(m.b.view(6, 2)).imag[:4],
    "conjugate": lambda m: torch.view_as_complex(m.b.view(6, 2))[:4].conj(),
    "more_dimensions": lambda m: m.b[0][None, :, None],
    "chunk": lambda m: m.b.chunk(3)[1],
    "storage": lambda m: torch.empty(0).set_(m.b.untyped_storage(), 2, (4,), (1,)),
    "dlpack": lambda m: torch.from_dlpack(m.b)[1],
    "numpy_and_back": lambda m: torch.from_numpy(m.b.numpy()[::2, 1:])[:, :1],
    "buffer_protocol": lambda m: torch.frombuffer(memoryview(m.b.numpy()).cast("B"), dtype=torch.float32)[4:8],
}


def _view_probe(name: str, init: Callable[[Any], torch.Tensor]) -> Probe:
    def build() -> Case:
        return case(init, changed_before)

    build.__name__ = f"view_of_a_changed_buffer_{name}"
    return equal(build)


globals().update({f"view_{name}": _view_probe(name, init) for name, init in VIEWS.items()})


@equal
def view_read_before_and_after_the_change():
    def run(m, x):
        before = m.v * 1
        m.b.mul_(2)
        return before, x + m.v

    return case(lambda m: m.b[0], run)


@equal
def view_written():
    def run(m, x):
        m.v.add_(1)
        return x + m.b

    return case(lambda m: m.b[0], run)


@equal
def data_of_a_parameter_written():
    def run(m, x):
        m.v.mul_(0.5)
        return x + m.w

    return case(lambda m: m.w.data, run)


@equal
def view_of_a_parameter_requires_grad():
    return case(lambda m: m.w[0], lambda m, x: x * m.v)


@equal
def data_of_a_parameter_requires_no_grad():
    return case(lambda m: m.w.data, lambda m, x: x * m.v)


@equal
def complex_parameter_as_real():
    def init(m):
        m.z = nn.Parameter(torch.randn(4, dtype=torch.complex64))
        return torch.view_as_real(m.z)[:, 0]

    return case(init, lambda m, x: x * m.v)


@equal
def view_first_used_without_gradients():
    def run(m, x):
        with torch.no_grad():
            y = x + m.v
        return y, x * m.v

    return case(lambda m: m.w[0], run)


@equal
def pieces_of_a_flat_parameter():
    def init(m):
        m.flat = nn.Parameter(torch.randn(16))
        return m.flat[:12].view(4, 3), m.flat[12:15]

    return case(init, lambda m, x: x @ m.v[0] + m.v[1])


@equal
def pieces_in_a_list():
    return case(lambda m: list(m.w.unbind(0)), lambda m, x: x + m.v[0] * m.v[2])


@equal
def view_in_a_closure():
    def init(m):
        v = m.b[2]
        return lambda: v

    def run(m, x):
        m.b.add_(1)
        return x + m.v()

    return case(init, run)


@equal
def view_of_a_buffer_of_a_submodule():
    def init(m):
        m.sub = nn.BatchNorm1d(4)
        return m.sub.running_mean[1:3]

    def run(m, x):
        y = m.sub(x)
        return y, m.v * 1

    return case(init, run, t(3, 4))


@equal
def view_in_a_branch():
    def run(m, x):
        return torch.cond(x.sum() > 0, lambda x: x + m.v, lambda x: x * m.v, (x,))

    return case(lambda m: m.b[0], run)


@equal
def view_under_vmap():
    return case(lambda m: m.b[0], lambda m, x: torch.vmap(lambda row: row + m.v)(x), t(3, 4))


@equal
def view_under_autocast():
    def run(m, x):
        with torch.autocast("cpu", torch.bfloat16):
            y = x @ m.v
        m.b.add_(1)
        return y, x @ m.v

    return case(lambda m: m.b.t(), run, t(2, 4))


@equal
def view_with_a_size_that_varies():
    def run(m, x):
        m.b.add_(1)
        return x * m.v + x.shape[0]

    return case(lambda m: m.b[1], run, t(5, 4), dynamic_shapes={"args": ({0: torch.export.Dim("n")},)})


@equal
def size_first_used_in_a_region():
    def run(m, x):
        y = x * m.w[0]
        with torch.no_grad():
            z = torch.zeros(x.shape[0] + 1)
        return y, z, x * m.w[1]

    return case(lambda m: None, run, t(5, 4), dynamic_shapes={"args": ({0: torch.export.Dim("n")},)})


@equal
def view_returned():
    return case(lambda m: m.b[0], lambda m, x: (m.v, m.b, x * 1))


@equal
def view_returned_and_changed():
    def run(m, x):
        m.b.add_(x)
        return m.v, m.v[1:]

    return case(lambda m: m.b[0], run)


@equal
def views_of_one_constant_returned():
    def init(m):
        c = torch.arange(6.0)
        return c[:4], c[2:], c[1:3]

    return case(init, lambda m, x: (*m.v, x * 1))


@equal
def two_views_of_each_other():
    def run(m, x):
        m.b.add_(1)
        return x + m.v[0][1] + m.v[1]

    return case(lambda m: (m.b[:2], m.b[1]), run)


@equal
def view_of_a_transient_buffer():
    def run(m, x):
        m.c.mul_(2)
        return x[1:] + m.v

    return case(lambda m: m.c[1:], run)


@equal
def disjoint_pieces_are_constants():
    def init(m):
        both = torch.randn(8)
        m.register_buffer("part", both[:4])
        return both[4:]

    def run(m, x):
        m.part.add_(1)
        return x + m.v + m.part

    return case(init, run)


@equal
def a_clone_is_a_constant():
    def run(m, x):
        m.b.add_(1)
        return x + m.v

    return case(lambda m: m.b[0].clone(), run)


@equal
def one_leaf_on_the_memory_of_another():
    return case(lambda m: [nn.Parameter(m.w.data[0])], lambda m, x: x * m.v[0] + m.w[0])


@refused("shared-buffer-assigned")
def buffer_assigned_that_has_a_view():
    def run(m, x):
        m.b = m.b + 1
        return x + m.v

    return case(lambda m: m.b[0], run)


@refused("shared-buffer-assigned")
def buffer_assigned_after_its_view_was_read():
    def run(m, x):
        y = x[1:] + m.v
        m.c = m.c * 2
        return y

    return case(lambda m: m.c[1:], run)


@refused("constant-shares-memory")
def memory_of_two_parameters():
    def init(m):
        flat = torch.randn(16)
        m.one, m.two = nn.Parameter(flat[:12].view(4, 3)), nn.Parameter(flat[12:15])
        return flat

    return case(init, lambda m, x: x @ m.one + m.two + m.v.sum())


@refused("constant-shares-memory")
def memory_around_a_buffer_written():
    def init(m):
        flat = torch.randn(6)
        m.register_buffer("part", flat[:4])
        return flat

    def run(m, x):
        m.v.add_(1)
        return x + m.part

    return case(init, run)


# -- read through Python -------------------------------------------------------------------------------------------


def _numpy(m: Any) -> Any:
    return m.b.numpy()


def _from_numpy(m: Any) -> Any:
    a = np.arange(4, dtype=np.float32)
    m.register_buffer("a", torch.from_numpy(a))
    return a


def _bytes(m: Any) -> Any:
    raw = bytearray(16)
    m.register_buffer("a", torch.frombuffer(raw, dtype=torch.float32))
    return raw


def _array(m: Any) -> Any:
    raw = array.array("f", [1, 2, 3, 4])
    m.register_buffer("a", torch.frombuffer(raw, dtype=torch.float32))
    return raw


READINGS: dict[str, tuple[Callable[[Any], Any], Callable[..., Any]]] = {
    "item": (_numpy, lambda m, x: x + float(m.v[0, 0])),
    "item_of_a_view": (lambda m: m.b.numpy()[1:], lambda m, x: x + float(m.v[0, 0])),
    "sum": (_numpy, lambda m, x: x + float(m.v.sum())),
    "function": (_numpy, lambda m, x: x + float(np.max(m.v))),
    "arithmetic": (_numpy, lambda m, x: x + float((m.v + 1)[0, 0])),
    "copied_to_a_tensor": (_numpy, lambda m, x: x + torch.tensor(m.v)[0]),
    "converted_to_a_tensor": (_numpy, lambda m, x: x + torch.as_tensor(m.v, dtype=torch.float64)[0]),
    "comparison": (_from_numpy, lambda m, x: x + 1 if (m.v == 1).any() else x),
    "list": (_from_numpy, lambda m, x: x + m.v.tolist()[1]),
    "loop": (_from_numpy, lambda m, x: x + float(sum(m.v))),
    "dlpack": (lambda m: np.from_dlpack(m.b), lambda m, x: x + float(m.v[1, 1])),
    "bytes": (_bytes, lambda m, x: x + m.v[3]),
    "memoryview_of_bytes": (lambda m: memoryview(_bytes(m)), lambda m, x: x + m.v[3]),
    "memoryview_of_an_array": (lambda m: memoryview(m.b.numpy()), lambda m, x: x + m.v[0, 0]),
    "array": (_array, lambda m, x: x + m.v[3]),
    "sum_of_an_array": (_array, lambda m, x: x + sum(m.v)),
    "parameter": (lambda m: m.w.detach().numpy(), lambda m, x: x * float(m.v[0, 0])),
    "written": (_numpy, lambda m, x: (m.v.__setitem__((0, 0), 1.0), x + m.b)[1]),
    "written_by_a_function": (_numpy, lambda m, x: (np.copyto(m.v, 1.0), x + m.b)[1]),
}


def _reading_probe(name: str, init: Callable[[Any], Any], run: Callable[..., Any]) -> Probe:
    def build() -> Case:
        return case(init, run)

    build.__name__ = f"read_through_python_{name}"
    return refused("constant-shares-memory")(build)


globals().update({f"read_{name}": _reading_probe(name, *reading) for name, reading in READINGS.items()})


@equal
def numpy_array_as_a_tensor():
    def run(m, x):
        m.b.add_(1)
        return x + torch.from_numpy(m.v)[0] + torch.as_tensor(m.v)[1]

    return case(_numpy, run)


@equal
def size_of_an_array_is_no_reading():
    return case(_numpy, lambda m, x: x + m.v.shape[0] + m.v.ndim)


@equal
def array_of_its_own():
    def run(m, x):
        m.b.add_(1)
        return x + float(m.v[0, 0]) + m.b

    return case(lambda m: m.b.numpy().copy(), run)
