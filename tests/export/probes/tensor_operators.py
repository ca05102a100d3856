"""Layouts, dtypes, constructors and operators of tensors."""

# Programs as users write them, odd ones too.

from __future__ import annotations

import torch
from torch import nn

from ..probe import equal, ints, raises, refused, sound, t


@equal
def strides_and_contiguity():
    def forward(x):
        y = x.t()
        facts = y.is_contiguous(), y.stride(), x.storage_offset(), y.contiguous().stride(), x._is_view()
        return y * 2, facts

    return forward, (t(2, 3),)


@equal
def channels_last_input():
    def forward(x):
        return x * 2, x.is_contiguous(memory_format=torch.channels_last), x.stride()

    return forward, (t(2, 3, 4, 4).to(memory_format=torch.channels_last),)


@equal
def transposed_input():
    def forward(x):
        return x.reshape(-1), x + 1

    return forward, (t(3, 2).t(),)


@equal
def expanded_input():
    def forward(x):
        return x * 2, x.stride()

    return forward, (t(1, 3).expand(4, 3),)


@equal
def zero_dimensional_and_empty_inputs():
    def forward(x, e):
        return x * 2, e + 1, e.numel(), torch.cat([e, e])

    return forward, (torch.tensor(2.0), torch.empty(0, 3))


@equal
def inputs_of_many_dtypes():
    def forward(a, b, c, d, e):
        return a + 1, ~b, c * 2j, d.float(), e // 2, a.dtype, c.is_complex()

    dtypes = torch.randn(3, dtype=torch.complex64), t(3).half(), ints(3).to(torch.uint8)
    return forward, (t(3).double(), torch.tensor([True, False]), *dtypes)


@equal
def chained_in_place_on_intermediates():
    def forward(x):
        y = x.clone()
        z = y[0]
        y.add_(1).mul_(z.clone())
        z.zero_()
        y[:, 1] = y[:, 0]
        return y, z

    return forward, (t(2, 2),)


@equal
def in_place_on_expanded_copy_and_scatter():
    def forward(x, i):
        out = torch.zeros(4, 3)
        out.index_add_(0, i, x)
        out.scatter_(1, i[:2].unsqueeze(1) % 3, 9.0)
        out.masked_fill_(out > 5, 0)
        return out

    return forward, (t(3, 3), ints(3, high=4))


@equal
def unbind_split_and_change_parts():
    def forward(x):
        a, b = x.clone().chunk(2)
        a.add_(1)
        first, *_ = b.unbind(0)
        first.zero_()
        return a, b

    return forward, (t(4, 2),)


@equal
def tensor_iteration_and_unpacking():
    def forward(x):
        a, b, c = x
        total = sum(row * i for i, row in enumerate(x))
        return a + b + c, total, len(x), [r.shape for r in x]

    return forward, (t(3, 2),)


@equal
def indexing_of_all_kinds():
    def forward(x, i, m):
        return x[1], x[:, 1:], x[None, ..., 0], x[i], x[-1, [0, 2]], torch.where(m, x, -x), x[i, 0]

    return forward, (t(3, 4), torch.tensor([0, 2]), t(3, 4) > 0)


@equal
def tensor_constructors():
    def forward(x):
        made = [
            torch.zeros(2, 3), torch.arange(3), torch.full((3,), 2.5), torch.eye(2), torch.linspace(0, 1, 3),
            torch.tensor([1.0, 2.0]), x.new_zeros(2), torch.empty_like(x).fill_(1), torch.ones(3, dtype=torch.int32),
            torch.tensor(3), x.new_tensor([4.0]), torch.as_tensor([1, 2]), torch.tensor([[True]]),
        ]  # fmt: skip
        return [m + 1 for m in made]

    return forward, (t(3),)


@equal
def literal_tensor_changed_in_place():
    def forward(x):
        c = torch.tensor([1.0, 2.0, 3.0])
        c.add_(x)
        c[0] = 0
        return c

    return forward, (t(3),)


@equal
def tensor_built_from_a_list_of_python_numbers():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.scales = [1.0, 2.0, 3.0]

        def forward(self, x):
            return x * torch.tensor(self.scales, dtype=x.dtype)

    return M(), (t(3),)


@equal
def gradients_do_not_flow_through_detach():
    def forward(x):
        y = (x * 2).detach()
        z = (x * 3).requires_grad_()
        return y, x * y, z

    return forward, (t(3, requires_grad=True),)


@equal
def requires_grad_input_and_leaf_facts():
    def forward(x, y):
        z = x * y
        return z, x.requires_grad, y.requires_grad, z.requires_grad, z.is_leaf, x.is_leaf, z.grad_fn is None

    return forward, (t(3, requires_grad=True), t(3))


@sound("higher-order-operator")
def gradient_inside_forward():
    def forward(x):
        y = (x**2).sum()
        (g,) = torch.autograd.grad(y, x, create_graph=True)
        return g + 1

    return forward, (t(3, requires_grad=True),)


@raises
def change_of_a_leaf_that_needs_gradients():
    def forward(x):
        x.add_(1)
        return x

    return forward, (t(3, requires_grad=True),)


@equal
def tensor_subscript_type_error_is_caught():
    def forward(x):
        try:
            x["a"]
        except (IndexError, TypeError):
            return x * 2
        return x

    return forward, (t(3),)


@refused("tensor-attribute", "python-state", "new-state-tensor")
def attribute_on_an_input_tensor():
    def forward(x):
        x.tag = getattr(x, "tag", 0) + 1
        return x * x.tag

    return forward, (t(3),)


@equal
def attribute_on_an_intermediate_tensor():
    def forward(x):
        y = x * 2
        y.tag = 5
        return y * y.tag

    return forward, (t(3),)


@equal
def resize_and_as_strided():
    def forward(x):
        return x.as_strided((2, 2), (1, 1)), torch.as_strided(x.clone(), (2,), (2,))

    return forward, (t(4),)


@equal
def results_that_are_a_tensor_of_the_module():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(3))
            self.table = torch.arange(3.0)
            self.register_buffer("seen", torch.zeros(3))

        def forward(self, x):
            moved = self.table.to(x.device), self.weight.to(x.dtype), self.seen.type_as(x), self.table.cpu()
            same = moved[0] is self.table, moved[1] is self.weight, moved[2] is self.seen, moved[3] is self.table
            copied = self.table.double() is self.table, self.table.detach() is self.table
            return x + moved[0] * moved[1], same, copied, isinstance(moved[1], nn.Parameter)

    return M(), (t(3),)


@equal
def constant_moved_to_the_device_of_the_input():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.positions = torch.arange(3.0)
            self.tables = [torch.ones(3)]
            self.named = {"a": torch.full((3,), 2.0)}

        def forward(self, x):
            self.positions = self.positions.to(x.device)
            self.tables[0] = self.tables[0].to(x)
            self.named["a"] = self.named["a"].to(x.dtype)
            return x + self.positions * self.tables[0] - self.named["a"]

    return M(), (t(3),)


@equal
def random_integers_between_two_bounds():
    def forward(x):
        codes = torch.empty(4, dtype=torch.int8).random_(-100, 100)
        return codes, x.t().random_(2, to=9), torch.empty(3).random_(5), x

    return forward, (t(2, 3),)


@equal
def modules_moved_to_where_they_are():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(3, 3)
            self.register_buffer("shift", torch.ones(3))

        def forward(self, x):
            self.linear.to(x.dtype)
            self.to(x.device)
            for parameter in self.parameters():
                parameter.data = parameter.data.contiguous()
            return self.linear(x) + self.shift

    return M(), (t(2, 3),)


@equal
def dropout_that_is_off_is_its_argument():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.drop = nn.Dropout(0.5).eval()
            self.weight = nn.Parameter(torch.ones(3))

        def forward(self, x):
            same = self.drop(x) is x, self.drop(self.weight) is self.weight
            y = self.drop(x)
            y += 1
            return x * self.drop(self.weight), same

    return M(), (t(3),)


class Split(torch.autograd.Function):
    """Its second result does not learn."""

    @staticmethod
    def forward(ctx, x):
        sign = x.sign()
        ctx.mark_non_differentiable(sign)
        return x * 2, sign

    @staticmethod
    def backward(ctx, grad, _):
        return grad * 2


@equal
def results_of_a_function_without_grad():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(3))

        def forward(self, x):
            learns, does_not = Split.apply(self.weight * x)
            return learns, does_not, does_not + 1, Split.apply(x)

    return M(), (t(3),)
