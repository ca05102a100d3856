"""Questions about memory layout, asked by a kernel or by the program"""

from __future__ import annotations

import torch
from torch.export import Dim

from tests.export.probe import Case, equal, refused, t

BOTH = ({0: Dim.AUTO, 1: Dim.AUTO},)


def _laid_out(program, dynamic_shapes=None):
    """The program with an example of 3 by 4, and inputs that lie otherwise in memory."""
    others = [t(4, 3).t(), t(3, 8)[:, ::2], t(6, 4)[::2], t(4, 4)[1:]]
    if dynamic_shapes is not None:
        others += [t(1, 4), t(4, 1), t(7, 5).t(), t(2, 3)[:, :1], t(5, 4)]
    return Case(program, (t(3, 4),), also=[((other,), {}) for other in others], dynamic_shapes=dynamic_shapes)


@equal
def contiguous_of_a_transpose_then_asked():
    def f(x):
        y = x.t().contiguous()
        return y + 1 if y.is_contiguous() else y - 1

    return _laid_out(f)


def _is_itself(y):
    return y + 1 if y.contiguous() is y else y - 1


@equal
def contiguous_of_an_input_is_the_input():
    return _laid_out(_is_itself)


@equal
def contiguous_of_an_input_is_the_input_dynamic():
    return _laid_out(_is_itself, BOTH)


def _transpose_is_itself(x):
    y = x.t()
    v = y.contiguous()
    return x + v.t() * (v is y)


@equal
def contiguous_of_a_transpose_is_another_tensor():
    return _laid_out(_transpose_is_itself)


@equal
def contiguous_of_a_transpose_is_another_tensor_dynamic():
    return _laid_out(_transpose_is_itself, BOTH)


def _written(x):
    y = x.contiguous()
    y.add_(1)
    return x * 2


@equal
def contiguous_of_an_input_written():
    return _laid_out(_written)


@equal
def contiguous_of_an_input_written_dynamic():
    return _laid_out(_written, BOTH)


@equal
def contiguous_of_a_result_written():
    def f(x):
        z = x * 0.5
        y = z.contiguous()
        y.add_(1)
        return z

    return _laid_out(f)


@equal
def contiguous_of_an_input_returned():
    def f(x):
        return x.contiguous(), x * 1

    return _laid_out(f)


@equal
def contiguous_of_an_input_returned_through_a_view():
    def f(x):
        return x.contiguous().view(-1)[1:]

    return _laid_out(f, BOTH)


@equal
def reshape_of_an_input_written():
    def f(x):
        y = x.reshape(-1)
        y.add_(1)
        return x * 1

    return _laid_out(f)


@equal
def flatten_of_an_input_written_dynamic():
    def f(x):
        x.flatten().mul_(2)
        return x + 1

    return _laid_out(f, BOTH)


@equal
def ravel_of_an_input_is_returned():
    def f(x):
        return x.ravel()

    return _laid_out(f)


@equal
def view_that_may_fail_is_caught():
    def f(x):
        try:
            y = x.view(-1)
        except RuntimeError:
            y = x.reshape(-1) * 2
        return y * 2

    return _laid_out(f)


@equal
def channels_last_of_an_input():
    def f(x):
        y = x[None, None]
        return x + 1 if y.is_contiguous(memory_format=torch.channels_last) else x - 1

    return _laid_out(f)


@equal
def contiguous_in_channels_last_is_the_input():
    def f(x):
        y = x.contiguous(memory_format=torch.channels_last)
        return x + 1 if y is x else x - 1

    other = t(2, 3, 4, 5).to(memory_format=torch.channels_last)
    return Case(f, (t(2, 3, 4, 5),), also=[((other,), {}), ((t(2, 3, 5, 4).transpose(2, 3),), {})])


@equal
def operators_that_answer_about_layout():
    def f(x):
        dense = torch.ops.aten.is_non_overlapping_and_dense(x)
        return x + 1 if dense and torch.ops.aten.is_contiguous(x) else x - torch.ops.aten.stride(x, 0)

    return _laid_out(f)


@equal
def strides_of_what_follows_the_input():
    def f(x):
        return x * torch.empty_like(x).stride(0) + (x + 1).stride(1)

    return _laid_out(f, BOTH)


@equal
def storage_offset_of_an_input():
    def f(x):
        return x * (1 + x.storage_offset())

    return _laid_out(f)


@refused("data-dependent-value")
def addresses_compared():
    def f(x):
        return x + 1 if x.reshape(-1).data_ptr() == x.data_ptr() else x - 1

    return _laid_out(f)


@equal
def pinned_memory():
    def f(x):
        return x + 1 if x.is_pinned() else x - 1

    return _laid_out(f)
