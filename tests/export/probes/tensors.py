"""Inputs changed in place, views, aliases, detach and .data."""

# Programs as users write them, odd ones too.

from __future__ import annotations

import torch
from torch import nn

from ..probe import Case, equal, sound, t


@equal
def input_changed_in_place():
    def forward(x, y):
        x.add_(y)
        return x * 2

    return forward, (t(3), t(3))


@equal
def input_changed_and_returned():
    def forward(x):
        x.mul_(2)
        return x

    return forward, (t(3),)


@equal
def input_changed_after_its_use():
    def forward(x):
        y = x * 2
        x.zero_()
        return y

    return forward, (t(3),)


@equal
def input_changed_through_a_view():
    def forward(x):
        x[0].fill_(3)
        x.view(-1)[1:3].mul_(2)
        x.t()[1] = 7
        return x.sum()

    return forward, (t(3, 3),)


@equal
def input_item_assigned():
    def forward(x, i):
        x[0, 1] = 5
        x[i] = -1.0
        x[..., -1] += 2
        return x * 1

    return forward, (t(4, 3), torch.tensor([2, 3]))


@equal
def input_changed_in_nested_containers():
    def forward(batch):
        batch["a"][0].add_(1)
        return batch["a"][0] + batch["b"][1]

    return forward, ({"a": [t(3)], "b": (1, t(3))},)


@equal
def input_changed_through_detach():
    def forward(x):
        x.detach().add_(1)
        return x * 2

    return forward, (t(3),)


@equal
def input_changed_through_data():
    def forward(x):
        x.data[0] = 3
        x.data.mul_(2)
        return x * 2

    return forward, (t(3),)


@sound("tensor-data-assigned")
def input_data_assigned():
    def forward(x):
        x.data = x * 2
        return x + 1

    return forward, (t(3),)


@sound("tensor-data-assigned", "constant-mutated", "tensor-attribute")
def input_set():
    def forward(x, y):
        x.set_(y)
        return x + 1

    return forward, (t(3), t(3))


@equal
def intermediate_data_assigned():
    def forward(x):
        y = x * 2
        y.data.add_(1)
        return y

    return forward, (t(3),)


@sound("tensor-data-assigned", "tensor-attribute")
def intermediate_data_replaced():
    def forward(x):
        y = x * 2
        y.data = x * 5
        return y + 1

    return forward, (t(3),)


@equal
def data_of_a_tensor_that_needs_gradients():
    def forward(x):
        y = x * 2
        z = y.data * 3
        return y, z, z.requires_grad

    return forward, (t(3, requires_grad=True),)


@equal
def output_is_the_input():
    def forward(x, y):
        return x, y + 1, x

    return forward, (t(3), t(3))


@equal
def output_is_a_view_of_the_input():
    def forward(x):
        return x.view(-1), x[0], x.t(), x.expand(2, 2, 3)

    return forward, (t(2, 3),)


@equal
def output_views_of_each_other():
    def forward(x):
        y = x * 2
        return y, y[0], y.view(-1), y

    return forward, (t(2, 3),)


@equal
def outputs_that_look_like_views_but_are_copies():
    def forward(x):
        return x.contiguous(), x.reshape(-1), x.t().contiguous(), x.clone(), x.to(torch.float32), x.flatten()

    return forward, (t(2, 3),)


@equal
def detached_output_shares_storage():
    def forward(x):
        y = x * 2
        return y, y.detach(), x.detach()

    return forward, (t(3, requires_grad=True),)


@equal
def parameter_and_buffer_as_outputs():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.ones(3))
            self.register_buffer("b", torch.zeros(3))

        def forward(self, x):
            return self.w, self.b, self.w.view(1, 3), x + 1

    return M(), (t(3),)


@equal
def output_with_no_operator():
    def forward(x):
        return x

    return forward, (t(3),)


@equal
def only_constants_as_outputs():
    def forward(x):
        return 1, "two", None, 3.5, True

    return forward, (t(3),)


@equal
def no_output():
    def forward(x):
        x.add_(1)

    return forward, (t(3),)


@equal
def same_tensor_twice():
    def forward(x, y):
        return x * 2 + y

    x = t(3)
    return Case(forward, (x, x), also=[((t(3), t(3)), {})])


@equal
def same_tensor_twice_one_changed():
    def forward(x, y):
        x.add_(1)
        return x * y

    x = t(3)
    return Case(forward, (x, x), also=[((t(3), t(3)), {})])


@sound()
def same_tensor_twice_compared_by_identity():
    def forward(x, y):
        return x * 2 if x is y else x * 3

    x = t(3)
    return Case(forward, (x, x), also=[((t(3), t(3)), {})])


@sound()
def different_tensors_compared_by_identity():
    def forward(x, y):
        return x * 2 if x is y else x * 3

    same = t(3)
    return Case(forward, (t(3), t(3)), also=[((same, same), {})])


@equal
def different_tensors_then_the_same_one_changed():
    def forward(x, y):
        x.add_(1)
        return x * y

    same = t(3)
    return Case(forward, (t(3), t(3)), also=[((same, same), {})])


@equal
def inputs_that_share_storage():
    def forward(x, y):
        x.add_(1)
        y.mul_(2)
        return x * 1, y * 1

    base = t(2, 3)
    return forward, (base, base.view(-1)[2:5])


@equal
def input_is_a_parameter_of_the_module():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.ones(3))

        def forward(self, x, w):
            return x * self.w + w

    m = M()
    return m, (t(3), m.w)


@equal
def input_is_a_buffer_that_is_changed():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("b", torch.ones(3))

        def forward(self, x, b):
            self.b.add_(x)
            return b * 2

    m = M()
    return m, (t(3), m.b)


@equal
def identity_of_tensors_inside():
    def forward(x):
        y = x.contiguous()
        z = x.clone()
        return y is x, z is x, x.to(torch.float32) is x, x + 0 if y is x else x + 1

    return forward, (t(3),)


@equal
def tensor_in_list_by_identity():
    def forward(x, y):
        return any(v is x for v in [y, x]), x + 1

    return forward, (t(3), t(3))
