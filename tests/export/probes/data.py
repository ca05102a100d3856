"""Questions about the data of tensors, addresses, clocks and random numbers."""

# Programs as users write them, odd ones too.
# ruff: noqa: UP031

from __future__ import annotations

import torch
from torch import nn

from ..probe import equal, ints, refused, t

VALUE = ("data-dependent-value",)
BRANCH = ("data-dependent-branch", "data-dependent-value")
SHAPE = ("data-dependent-shape", "data-dependent-value")


@refused(*BRANCH)
def if_on_a_tensor():
    def forward(x):
        if x.sum() > 0:
            return x
        return -x

    return forward, (t(3),)


@refused(*BRANCH)
def while_on_a_tensor():
    def forward(x):
        while x.sum() < 10:
            x = x + 1
        return x

    return forward, (t(3),)


@refused(*BRANCH)
def bool_and_not_of_a_tensor():
    def forward(x):
        return x if not x.any() else x * 2

    return forward, (t(3),)


@refused(*BRANCH)
def and_or_on_tensors():
    def forward(x):
        return (x.sum() > 0) and x

    return forward, (t(3),)


@equal
def assert_on_a_tensor():
    def forward(x):
        assert (x < 100).all(), "too big"
        return x

    return forward, (t(3),)


@refused(*BRANCH)
def conditional_expression_on_a_tensor():
    class M(nn.Module):
        def forward(self, x):
            return x * 2 if (x > 0).all() else x

    return M(), (t(3),)


@refused(*BRANCH)
def tensor_in_a_list():
    def forward(x, y):
        return x * 2 if x in [y, y + 1] else x

    return forward, (t(1), t(1))


@refused(*BRANCH)
def max_of_tensor_elements():
    def forward(x):
        return max(x[0], x[1])

    return forward, (t(3),)


@refused(*BRANCH)
def sorted_tensor_elements():
    def forward(x):
        return sorted([x[0], x[1]], key=lambda v: v * 2)[0]

    return forward, (t(3),)


@refused(*BRANCH)
def comparison_chain_on_tensors():
    def forward(x):
        return x * (0 < x[0] < 1)

    return forward, (t(3),)


@equal
def item():
    def forward(x):
        return x * x[0].item()

    return forward, (t(3),)


@equal
def tolist():
    def forward(x):
        return x * x.tolist()[0]

    return forward, (t(3),)


@equal
def numpy_of_a_tensor():
    def forward(x):
        return x * float(x.detach().numpy().sum())

    return forward, (t(3),)


@equal
def numpy_function_on_a_tensor():
    import numpy as np

    def forward(x):
        return x + torch.from_numpy(np.asarray(x) * 2)

    return forward, (t(3),)


@equal
def int_of_a_tensor():
    def forward(x, n):
        return x[: int(n)]

    return forward, (t(5), torch.tensor(3))


@equal
def float_of_a_tensor():
    def forward(x):
        return x * float(x.sum())

    return forward, (t(3),)


@refused(*VALUE)
def tensor_as_an_index():
    def forward(x, n):
        return [x * i for i in range(n)]

    return forward, (t(3), torch.tensor(3))


@refused(*VALUE)
def tensor_indexes_a_python_list():
    def forward(x, n):
        return x * [1.0, 2.0, 3.0][n]

    return forward, (t(3), torch.tensor(1))


@equal
def nonzero():
    def forward(x):
        return x.nonzero()

    return forward, (t(3),)


@equal
def boolean_mask():
    def forward(x):
        return x[x > 0].sum()

    return forward, (t(3),)


@equal
def masked_select_and_unique():
    def forward(x):
        return torch.unique(x)

    return forward, (ints(5),)


@equal
def where_with_one_argument():
    def forward(x):
        (i,) = torch.where(x > 0)
        return x[i] * 2

    return forward, (t(3),)


@equal
def repeat_interleave_by_tensor():
    def forward(x, n):
        return x.repeat_interleave(n, dim=0)

    return forward, (t(3), torch.tensor([1, 2, 0]))


@equal
def boolean_mask_assigned():
    def forward(x):
        y = x.clone()
        y[x > 0] = 0
        return y

    return forward, (t(3),)


@refused("tensor-repr", *VALUE)
def repr_of_a_tensor():
    def forward(x):
        return x * len(repr(x))

    return forward, (t(3),)


@refused("tensor-repr", *VALUE)
def format_of_a_tensor():
    def forward(x):
        text = f"{x}"
        return x, len(text)

    return forward, (t(3),)


@refused("tensor-repr", *VALUE)
def format_of_a_scalar_tensor():
    def forward(x):
        return x, f"{x.sum():.3f}"

    return forward, (t(3),)


@refused("tensor-repr", *VALUE)
def str_of_a_container_of_tensors():
    def forward(x):
        return x, str([x, 1])

    return forward, (t(3),)


@refused("tensor-repr", *VALUE)
def percent_format_of_a_tensor():
    def forward(x):
        return x, "%s" % x

    return forward, (t(3),)


@equal
def printing_a_tensor_is_skipped():
    def forward(x):
        print("value", x)
        return x + 1

    return forward, (t(3),)


@refused("unrecordable-id")
def id_of_a_tensor():
    def forward(x):
        return x * (id(x) % 7)

    return forward, (t(3),)


@refused("unrecordable-id")
def id_of_an_object():
    thing = object()

    def forward(x):
        return x * (id(thing) % 7)

    return forward, (t(3),)
