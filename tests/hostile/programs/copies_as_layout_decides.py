"""What shows whether `contiguous()`, `reshape()`, `to(memory_format=...)` have copied, and more questions about layout.

Each program is called with arguments that lie in memory as the example's do, and with those that lie otherwise: these
it gets right or rejects.
"""

from __future__ import annotations

import operator
import weakref

import torch
import torch.nn.functional as F

from tests.export.probe import Case, equal, sound, t

aten = torch.ops.aten


def rows():
    return t(3, 4)


def columns():
    return t(4, 3).t()


def images():
    return t(1, 3, 4, 4)


def channels_last():
    return images().to(memory_format=torch.channels_last)


def one_channel():
    return t(2, 1, 4, 4)


def one_channel_last():
    return t(2, 4, 4, 1).permute(0, 3, 1, 2)


def answer(question):
    """x + 1 or x - 1, by a question about x and x.contiguous()."""
    return lambda x: x + 1 if question(x, x.contiguous()) else x - 1


def of_result(program):
    """The same about a result."""

    def f(x):
        y = x.sin()
        return y + 1 if program(y, y.contiguous()) else y - 1

    return f


IDENTITY = {
    "is": lambda x, y: x is y,
    "is_not": lambda x, y: x is not y,
    "operator_is": operator.is_,
    "operator_is_not": operator.is_not,
    "each_is": lambda x, y: all(v is y for v in [x]),
    "key": lambda x, y: {x: 1}.get(y) is not None,
    "keys": lambda x, y: len({x: 1, y: 2}) == 1,
    "pop": lambda x, y: {x: 1}.pop(y, None),
    "set": lambda x, y: len({x, y}) == 1,
    "intersection": lambda x, y: len({x} & {y}) == 1,
    "difference": lambda x, y: bool({x} - {y}),
    "frozenset": lambda x, y: x in frozenset([y]),
    "key_of_tuples": lambda x, y: len({(x, 1), (y, 1)}) == 1,
    "weak_key": lambda x, y: torch.utils.weak.WeakTensorKeyDictionary({x: 1}).get(y) is not None,
    "weak_reference": lambda x, y: weakref.ref(y)() is x,
}
LAYOUT = {
    "dim_order": lambda x, y: x.dim_order() == (0, 1),
    "dim_order_checked": lambda x, y: x.dim_order(ambiguity_check=True) == (0, 1),
    "dim_order_of_result": lambda x, y: (x * 2).dim_order() == y.dim_order(),
    "stride": lambda x, y: aten.stride(x) == [4, 1],
    "stride_default": lambda x, y: aten.stride.default(x) == [4, 1],
    "stride_int": lambda x, y: aten.stride.int(x, 0) == 4,
    "sym_stride": lambda x, y: aten.sym_stride(x)[0] == 4,
    "sym_is_contiguous": lambda x, y: aten.sym_is_contiguous.default(x),
    "overlap": lambda x, y: torch._debug_has_internal_overlap(x) == 0,
    "sorted_columns": lambda x, y: x.sort(0)[0].is_contiguous(),
    "view_of_reshaped": lambda x, y: x.sin().reshape(-1)._is_view(),
    "base_of_reshaped": lambda x, y: x.sin().reshape(-1)._base is not None,
}


def _both_ways(name, program, example, other, decorate=equal):
    for suffix, here, there in (("", example, other), ("_the_other_way", other, example)):

        def build(here=here, there=there):
            return Case(program, (here(),), also=[((there(),), {})])

        build.__name__ = name + suffix
        globals()[name + suffix] = decorate(build)


def _expanded():
    return t(3, 1).expand(3, 4)


for _name, _question in IDENTITY.items():
    _both_ways(f"identity_{_name}", answer(_question), rows, columns)
    _both_ways(f"identity_of_result_{_name}", of_result(_question), rows, columns)
for _name, _question in LAYOUT.items():
    _both_ways(f"layout_{_name}", answer(_question), rows, _expanded if _name == "overlap" else columns)


def attribute_of_copy(x):
    y = x.sin()
    y.contiguous().tag = 3
    return y + getattr(y, "tag", 0)


def attribute_before(x):
    y = x.sin()
    y.tag = 3
    return y + getattr(y.contiguous(), "tag", 0)


def has_attribute(x):
    y = x.sin()
    y.tag = 3
    return y + hasattr(y.contiguous(), "tag")


def in_its_dict(x):
    y = x.sin()
    y.tag = 3
    return y + vars(y.contiguous()).get("tag", 0)


def requires_grad(x):
    y = x.sin()
    y.contiguous().requires_grad_()
    return x + 1 if y.requires_grad else x - 1


def data(x):
    y = x.sin()
    y.contiguous().data = torch.zeros(3, 4)
    return y * 2


def death(x):
    y = x.sin()

    def dead():
        return weakref.ref(y.contiguous())

    return x + (dead()() is None)


def death_of_an_argument(x):
    def dead():
        y = x.contiguous()
        reference = weakref.ref(y)
        del y
        return reference

    return x + (dead()() is None)


def written(x):
    y = x.sin()
    y.contiguous().add_(1)
    return y * 2


for _program in (attribute_of_copy, attribute_before, has_attribute, in_its_dict, requires_grad, data, death,
                 death_of_an_argument, written):  # fmt: skip
    _both_ways(_program.__name__ + "_", _program, rows, columns)


def attribute_of_argument(x):
    x.contiguous().tag = 3
    return x + getattr(x, "tag", 0)


def flag_of_argument(x):
    x.contiguous().requires_grad_()
    return x.detach() + 1 if x.requires_grad else x - 1


for _program in (attribute_of_argument, flag_of_argument):
    _both_ways(_program.__name__ + "_", _program, rows, columns, sound("tensor-attribute"))


def is_converted(x):
    return x + 1 if x.to(memory_format=torch.channels_last) is x else x - 1


def converted_and_written(x):
    x.to(memory_format=torch.channels_last).add_(1)
    return x * 2


def converted_result(x):
    y = x.sin()
    y.to(memory_format=torch.channels_last).add_(1)
    return y * 2


for _program in (is_converted, converted_and_written, converted_result):
    _both_ways(_program.__name__ + "_", _program, images, channels_last)

WEIGHT = torch.ones(3, 1, 2, 2)


def is_convolution_contiguous(x):
    return x + 1 if F.conv2d(x, WEIGHT).is_contiguous() else x - 1


def is_convolution_of_copy_contiguous(x):
    return x + 1 if F.conv2d(x.contiguous(), WEIGHT).is_contiguous() else x - 1


def is_convolution_itself(x):
    y = F.conv2d(x, WEIGHT)
    return x + 1 if y.contiguous() is y else x - 1


def convolution_written(x):
    y = F.conv2d(x.contiguous(), WEIGHT)
    y.contiguous().add_(1)
    return y * 2


def are_channels_together(x):
    return x + 1 if torch.cat([x, x], 1).is_contiguous() else x - 1


for _program in (is_convolution_contiguous, is_convolution_of_copy_contiguous, is_convolution_itself,
                 convolution_written, are_channels_together):  # fmt: skip
    _both_ways(_program.__name__ + "_", _program, one_channel, one_channel_last)
