"""Writes through .data, detach() and set_()."""

# Programs as users write them, odd ones too.

from __future__ import annotations

import torch

from ..probe import equal, refused, t
from .tensor_modules import Model

# ---- .data, detach(), set_()


@equal
def data_of_an_input_changed():
    def body(self, x):
        x.data.mul_(3)
        return x + 1

    return Model(body), (t(3),)


@equal
def data_of_an_intermediate_changed():
    def body(self, x):
        y = x * 2
        y.data[0] = 5
        return y

    return Model(body), (t(3),)


@equal
def data_of_a_buffer_changed():
    def body(self, x):
        self.b.data.add_(1)
        return x * self.b

    return Model(body), (t(3),)


@equal
def data_of_a_parameter_copied_into():
    def body(self, x):
        self.w.data.copy_(self.w.data * 0.5)
        return x * self.w

    return Model(body), (t(3),)


@equal
def data_of_a_plain_tensor_changed():
    def body(self, x):
        self.k.data.add_(1)
        return x * self.k

    return Model(body), (t(3),)


@equal
def detached_input_changed():
    def body(self, x):
        x.detach().mul_(3)
        return x + 1

    return Model(body), (t(3),)


@equal
def detached_buffer_changed():
    def body(self, x):
        self.b.detach().add_(1)
        return x * self.b

    return Model(body), (t(3),)


@equal
def detached_in_place():
    def body(self, x):
        y = x * 2
        y.detach_()
        return y

    return Model(body), (t(3, requires_grad=True),)


@equal
def input_detached_in_place():
    def body(self, x):
        x.detach_()
        return x * 2

    return Model(body), (t(3),)


@refused("tensor-data-assigned")
def data_of_an_input_assigned():
    def body(self, x):
        x.data = x.data * 2
        return x

    return Model(body), (t(3),)


@refused("tensor-data-assigned")
def data_of_an_input_swapped_with_another():
    def body(self, a, b):
        a.data = b
        return a + 1

    return Model(body), (t(3), t(3))


@equal
def data_of_an_intermediate_assigned():
    def body(self, x):
        y = x + 1
        y.data = x * 3
        return y

    return Model(body), (t(3),)


@equal
def storage_of_an_input_set():
    def body(self, a, b):
        a.set_(b)
        return a + 1

    return Model(body), (t(3), t(3))


@equal
def storage_of_a_buffer_set():
    def body(self, x):
        self.b.set_(x * 2)
        return self.b + 1

    return Model(body), (t(3),)


@equal
def storage_of_an_intermediate_set():
    def body(self, x):
        y = torch.empty(0)
        y.set_(x * 2)
        return y

    return Model(body), (t(3),)


@equal
def input_resized():
    def body(self, x):
        x.resize_(2)
        return x + 1

    return Model(body), (t(3),)


@equal
def input_transposed_in_place():
    def body(self, x):
        x.t_()
        return x + 1

    return Model(body), (t(2, 3),)


@equal
def input_squeezed_in_place():
    def body(self, x):
        x.squeeze_(0)
        return x + 1

    return Model(body), (t(1, 3),)


@refused("tensor-data-assigned")
def tensors_swapped():
    def body(self, x):
        y = x * 2
        torch.utils.swap_tensors(y, self.k)
        return x + self.k

    return Model(body), (t(3),)


@refused("tensor-data-assigned")
def buffer_swapped_with_a_parameter():
    def body(self, x):
        self.b.data, self.c.data = self.c.data, self.b.data
        return x + self.b

    return Model(body), (t(3),)


@refused("data-dependent-value")
def untyped_storage_filled():
    def body(self, x):
        x.untyped_storage().fill_(0)
        return x + 1

    return Model(body), (t(3),)


@equal
def numpy_view_of_a_plain_tensor():
    def body(self, x):
        return x * float(self.k.numpy()[0])

    return Model(body), (t(3),)


@equal
def numpy_view_of_a_plain_tensor_changed():
    def body(self, x):
        self.k.numpy()[0] += 1
        return x * self.k

    return Model(body), (t(3),)


@refused("constant-mutated")
def tensor_from_a_numpy_array_changed():
    import numpy as np

    def body(self, x):
        torch.from_numpy(self.table).add_(1)
        return x * torch.from_numpy(self.table)

    return Model(body, table=np.ones(3, dtype=np.float32)), (t(3),)


@equal
def plain_tensor_filled_under_no_grad():
    def body(self, x):
        with torch.no_grad():
            self.k.fill_(float(self.n))
        return x * self.k

    return Model(body, n=2), (t(3),)


@equal
def out_argument_is_a_plain_tensor():
    def body(self, x):
        torch.add(x, 1, out=self.k)
        return self.k * 2

    return Model(body), (t(3),)


@equal
def out_argument_is_an_input():
    def body(self, x, y):
        torch.add(x, 1, out=y)
        return y * 2

    return Model(body), (t(3), t(3))


@equal
def list_of_tensors_changed_by_foreach():
    def body(self, x):
        torch._foreach_add_([self.b, self.c], 1.0)
        return x * self.b + self.c

    return Model(body), (t(3),)


@equal
def copy_between_buffers():
    def body(self, x):
        self.c.copy_(self.b)
        self.b.copy_(x)
        return self.c + self.b

    return Model(body), (t(3),)
