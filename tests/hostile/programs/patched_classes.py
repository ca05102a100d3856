"""Programs that change torch's classes and modules, or builtins, for their own time"""

from __future__ import annotations

import builtins
import unittest.mock

import torch
import torch._tensor_str

from tests.export.probe import equal, refused, sound, t


@equal
def method_added_to_tensor_and_removed():
    def f(x):
        torch.Tensor.doubled_here = lambda self: self * 2
        try:
            return x.doubled_here()
        finally:
            del torch.Tensor.doubled_here

    return f, (t(3),)


@refused("python-state")
def method_added_to_tensor():
    def f(x):
        torch.Tensor.doubled_here = lambda self: self * 2
        return x.doubled_here()

    return f, (t(3),)


@equal
def method_added_on_a_side_of_a_branch():
    if "doubled_here" in vars(torch.Tensor):  # left by the eager call of the program above
        del torch.Tensor.doubled_here

    def f(x):
        if x.sum() > 0:
            torch.Tensor.doubled_here = lambda self: self * 2
            y = x.doubled_here()
            del torch.Tensor.doubled_here
        else:
            y = x * 3
        return y

    return f, (t(3),)


@refused("tensor-repr")
def text_behind_such_a_branch():
    """The trace's own function, which refuses the text, is there again after each side."""

    def f(x):
        if x.sum() > 0:
            torch.Tensor.doubled_here = lambda self: self * 2
            y = x.doubled_here()
            del torch.Tensor.doubled_here
        else:
            y = x * 3
        return y * len(str(y))

    return f, (t(3),)


@equal
def format_of_tensors_replaced():
    def f(x):
        old = torch.Tensor.__format__
        torch.Tensor.__format__ = lambda self, spec: "7"
        try:
            return x * int(f"{x}")
        finally:
            torch.Tensor.__format__ = old

    return f, (t(3),)


@equal
def name_in_the_module_of_texts():
    def f(x):
        torch._tensor_str.here = 2
        try:
            return x * torch._tensor_str.here
        finally:
            del torch._tensor_str.here

    return f, (t(3),)


@equal
def operator_replaced():
    def f(x):
        old = torch.relu
        try:
            torch.relu = lambda value: value * 7
            return torch.relu(x)
        finally:
            torch.relu = old

    return f, (t(3),)


@equal
def builtin_added_and_removed():
    def f(x):
        builtins.added_here = 3
        try:
            return x * added_here  # noqa: F821
        finally:
            del builtins.added_here

    return f, (t(3),)


@sound("python-state")
def builtin_added():
    def f(x):
        if not hasattr(builtins, "kept_here"):
            builtins.kept_here = 3
        try:
            return x * kept_here  # noqa: F821
        finally:
            if x.shape[0] == 3:
                del builtins.kept_here

    return f, (t(3),)


process = refused("process-state")


@process
def builtin_replaced():
    def f(x):
        old = builtins.len
        builtins.len = lambda value: 5
        try:
            return x * len([1])
        finally:
            builtins.len = old

    return f, (t(3),)


@process
def builtin_replaced_in_the_dict():
    def f(x):
        old = vars(builtins)["len"]
        vars(builtins)["len"] = lambda value: 5
        try:
            return x * len([1])
        finally:
            vars(builtins)["len"] = old

    return f, (t(3),)


@process
def builtin_replaced_by_mock():
    def f(x):
        with unittest.mock.patch("builtins.len", lambda value: 5):
            return x * len([1])

    return f, (t(3),)
