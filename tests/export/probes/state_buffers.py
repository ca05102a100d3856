"""Buffers and parameters: changed in place, assigned, swapped, shared, absent."""

# Programs as users write them, odd ones too.

from __future__ import annotations

import torch
from torch import nn

from ..probe import equal, refused, sound, t


class Buffered(nn.Module):
    """A buffer `b` of three ones and, unless told otherwise, a second one `c` of zeros."""

    def __init__(self):
        super().__init__()
        self.register_buffer("b", torch.ones(3))
        self.register_buffer("c", torch.zeros(3), persistent=False)


@equal
def buffer_changed_in_place():
    class M(Buffered):
        def forward(self, x):
            self.b.add_(x.sum(0))
            return x * self.b

    return M(), (t(2, 3),)


@equal
def buffer_copy_and_mul():
    class M(Buffered):
        def forward(self, x):
            y = x * self.b
            self.b.mul_(0.5)
            self.b.copy_(self.b + x)
            return y

    return M(), (t(3),)


@equal
def buffer_assigned():
    class M(Buffered):
        def forward(self, x):
            self.b = self.b * 0.9 + x.mean(0) * 0.1
            return x - self.b

    return M(), (t(2, 3),)


@equal
def buffer_assigned_and_old_one_used():
    class M(Buffered):
        def forward(self, x):
            old = self.b
            self.b = self.b + x
            return old * self.b, old

    return M(), (t(3),)


@equal
def buffer_assigned_twice():
    class M(Buffered):
        def forward(self, x):
            self.b = self.b + x
            y = self.b * 2
            self.b = self.b * x
            return y

    return M(), (t(3),)


@equal
def buffer_assigned_by_setattr():
    class M(Buffered):
        def forward(self, x):
            for name in ("b", "c"):
                setattr(self, name, getattr(self, name) + x)
            return self.b * self.c

    return M(), (t(3),)


@equal
def buffer_assigned_in_registry():
    class M(Buffered):
        def forward(self, x):
            self._buffers["b"] = self._buffers["b"] + x
            return x * self.b

    return M(), (t(3),)


@equal
def buffer_augmented_assignment():
    class M(Buffered):
        def forward(self, x):
            self.b += x
            self.c -= 1
            return self.b * self.c

    return M(), (t(3),)


@equal
def buffer_item_assigned():
    class M(Buffered):
        def forward(self, x):
            self.b[0] = x[1]
            self.b[1:] *= 2
            return x + self.b

    return M(), (t(3),)


@equal
def buffers_swapped():
    class M(Buffered):
        def forward(self, x):
            self.b, self.c = self.c, self.b
            return x + self.b * 2

    return M(), (t(3),)


@equal
def buffers_become_one():
    class M(Buffered):
        def forward(self, x):
            self.b = self.c
            self.c = self.c + x
            return self.b * 1, self.c * 1

    return M(), (t(3),)


@refused("buffer-becomes-shared")
def one_tensor_in_two_buffers_then_changed():
    class M(Buffered):
        def forward(self, x):
            shared = self.b + x
            self.b = shared
            self.c = shared
            self.b.add_(1)
            return self.c * 1

    return M(), (t(3),)


@refused("buffer-becomes-shared")
def buffer_becomes_a_view_of_the_other():
    class M(Buffered):
        def forward(self, x):
            y = self.b * 1
            self.b = self.c.view(3)
            self.c.add_(x)
            return y

    return M(), (t(3),)


@sound()
def buffer_becomes_another_that_changes_in_place_later():
    class M(Buffered):
        def forward(self, x):
            self.c.add_(x)
            y = self.b * 1
            self.b = self.c
            return y

    return M(), (t(3),)


@sound()
def buffer_becomes_a_view_that_changes_in_place_later():
    class M(Buffered):
        def forward(self, x):
            self.c.add_(x)
            y = self.b * 1
            self.b = self.c[:]
            return y

    return M(), (t(3),)


@sound()
def buffer_becomes_a_plain_tensor_that_changes_in_place_later():
    plain = torch.zeros(3)

    class M(Buffered):
        def forward(self, x):
            y = self.b * 1
            self.b = plain
            self.b.add_(x)
            return y

    return M(), (t(3),)


@sound()
def buffer_becomes_a_parameter():
    class M(Buffered):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.ones(3))

        def forward(self, x):
            y = self.b * x
            self._buffers["b"] = self.w
            return y

    return M(), (t(3),)


@equal
def buffers_rotate():
    class M(Buffered):
        def __init__(self):
            super().__init__()
            self.register_buffer("d", torch.full((3,), 5.0))

        def forward(self, x):
            self.b, self.c, self.d = self.c, self.d, self.b
            self.c = self.c + x
            return self.b * 1, self.c * 2, self.d * 3

    return M(), (t(3),)


@equal
def output_computed_from_a_buffer_view_then_assigned():
    class M(Buffered):
        def forward(self, x):
            view = self.b[:2]
            self.b = self.b + x
            return view * 2, view

    return M(), (t(3),)


@sound()
def view_of_a_buffer_is_a_buffer_and_one_is_assigned():
    class M(Buffered):
        def __init__(self):
            super().__init__()
            self.register_buffer("part", self.b[:2])

        def forward(self, x):
            y = self.part.sum() + self.b
            self.b = self.b + x
            self.part.add_(1)
            return y

    return M(), (t(3),)


@sound("new-state-tensor", "python-state", "foreign-tensor")
def buffer_becomes_the_input():
    class M(Buffered):
        def forward(self, x):
            y = self.b * x
            self.b = x
            return y

    return M(), (t(3),)


@equal
def integer_step_buffer():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("step", torch.tensor(0))

        def forward(self, x):
            self.step += 1
            return x * self.step

    return M(), (t(3),)


@equal
def integer_step_buffer_assigned():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("step", torch.zeros((), dtype=torch.int64))

        def forward(self, x):
            self.step = self.step + 1
            return x / self.step

    return M(), (t(3),)


@sound("python-state")
def buffer_assigned_with_another_dtype():
    class M(Buffered):
        def forward(self, x):
            y = x + self.b
            self.b = self.b.double() + 1
            return y

    return M(), (t(3),)


@sound("python-state")
def buffer_assigned_with_another_shape():
    class M(Buffered):
        def forward(self, x):
            y = x + self.b.sum()
            self.b = torch.cat([self.b, x])
            return y

    return M(), (t(3),)


@refused("new-state-tensor")
def none_buffer_is_filled():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("b", None)

        def forward(self, x):
            if self.b is None:
                self.b = torch.zeros_like(x)
            self.b = self.b + x
            return self.b * 1

    return M(), (t(3),)


@equal
def none_buffer_is_read():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("b", None)
            self.register_parameter("w", None)

        def forward(self, x):
            return x * 2 if self.b is None and self.w is None else x

    return M(), (t(3),)


@refused("new-state-tensor", "python-state")
def buffer_is_set_to_none():
    class M(Buffered):
        def forward(self, x):
            y = x if self.b is None else x + self.b
            self.b = None
            return y

    return M(), (t(3),)


@refused("new-state-tensor", "python-state")
def buffer_is_deleted():
    class M(Buffered):
        def forward(self, x):
            y = x + self.b if "b" in self._buffers else x
            if "b" in self._buffers:
                del self.b
            return y

    return M(), (t(3),)


@sound("new-state-tensor", "python-state")
def buffer_deleted_and_registered_again():
    class M(Buffered):
        def forward(self, x):
            new = self.b + x
            del self.b
            self.register_buffer("b", new)
            return x * self.b

    return M(), (t(3),)


@refused("new-state-tensor", "python-state", "foreign-tensor")
def buffer_registered_in_forward():
    class M(nn.Module):
        def forward(self, x):
            if not hasattr(self, "seen"):
                self.register_buffer("seen", x * 0)
            self.seen = self.seen + x
            return self.seen * 1

    return M(), (t(3),)
