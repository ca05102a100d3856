"""Values of the two sides that `==` takes for one and the program can tell apart, and answers that results have not."""

from __future__ import annotations

import cmath
import enum
import math
import sys
import weakref

import numpy as np
import torch
from torch import nn

from tests.control_flow.programs.table import SIGNS, program


@program(*SIGNS)
class zero_with_a_sign_in_a_complex_number(nn.Module):
    def forward(self, x):
        k = complex(-1.0, 0.0) if x.sum() > 0 else complex(-1.0, -0.0)
        return x * cmath.sqrt(k).imag


@program(*SIGNS)
class equal_complex_numbers(nn.Module):
    def forward(self, x):
        one, other = complex(-1.0, -0.0), complex(-1.0, -0.0)
        k = one if x.sum() > 0 else other
        return x * cmath.sqrt(k).imag


@program(*SIGNS, refused="branch-differs")
class one_and_true_in_a_set(nn.Module):
    def forward(self, x):
        k = set()
        if x.sum() > 0:
            k.add(1)
        else:
            k.add(1.0)
        return torch.arange(3) * next(iter(k))


@program(*SIGNS)
class order_of_a_set(nn.Module):
    def forward(self, x):
        k = {8, 0} if x.sum() > 0 else {0, 8}
        return x * next(iter(k))


@program(*SIGNS)
class the_same_set_on_both_sides(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            k, y = {"a", 8, (1, "b")}, x * 2
        else:
            k, y = {"a", 8, (1, "b")}, x
        return y * len(k), (1, "b") in k


@program(*SIGNS)
class one_and_true_as_a_key(nn.Module):
    def forward(self, x):
        k = {}
        if x.sum() > 0:
            k[1] = x
        else:
            k[True] = x  # each side goes on to the end, where nothing holds the dict
        return k[1] * (2 if next(iter(k)) is True else 3)


@program(*SIGNS)
class zero_with_a_sign_as_a_key(nn.Module):
    def forward(self, x):
        k = {0.0: x} if x.sum() > 0 else {-0.0: x}
        return x * math.copysign(1, next(iter(k)))


@program(*SIGNS)
class equal_tuples_as_keys(nn.Module):
    def forward(self, x):
        k = {}
        if x.sum() > 0:
            k[("a", x.dtype)] = x
        else:
            k[("a", x.dtype)] = x * 2
        return k["a", torch.float32]


@program(*SIGNS)
class equal_texts_with_attributes(nn.Module):
    def forward(self, x):
        class Text(str):
            pass

        a, b = Text("a"), Text("a")
        a.factor, b.factor = 1, 2
        k = a if x.sum() > 0 else b
        return x * k.factor


@program(*SIGNS)
class two_objects_that_are_nan(nn.Module):
    def forward(self, x):
        n = float("nan")
        k = n if x.sum() > 0 else float("nan")
        return x * (2 if k in [n] else 3)


@program(*SIGNS)
class one_object_that_is_nan(nn.Module):
    def forward(self, x):
        k = (math.nan, x * 2) if x.sum() > 0 else (math.nan, x)
        return k[1] * (2 if k[0] in [math.nan] else 3)


class Always(enum.Enum):
    ONE, TWO = 1, 2

    def __eq__(self, other):
        return True

    __hash__ = object.__hash__


@program(*SIGNS)
class members_that_are_equal(nn.Module):
    def forward(self, x):
        k = Always.ONE if x.sum() > 0 else Always.TWO
        return x * k.value


# -- what a result of the operator answers in its own way --------------------------------------------------------------


@program(*SIGNS)
class attribute_of_a_tensor(nn.Module):
    def forward(self, x):
        y = x * 2
        if x.sum() > 0:
            y = x * 3
            y.factor = 2
        return y * getattr(y, "factor", 1)


@program(*SIGNS, refused="branch-unsupported")
class conjugate(nn.Module):
    def forward(self, x):
        z = torch.complex(x, x * 2)
        k = z.conj() if x.sum() > 0 else z * 1
        return x * (2 if k.is_conj() else 3)


@program(*SIGNS)
class conjugate_that_is_not_asked_for(nn.Module):
    def forward(self, x):
        z = torch.complex(x, x * 2)
        k = z.conj() if x.sum() > 0 else z * 1
        return (k * 1j).real, x.is_conj()


@program(*SIGNS, refused="branch-unsupported")
class negative(nn.Module):
    def forward(self, x):
        k = torch.complex(x, x).conj().imag if x.sum() > 0 else x
        return x * (2 if k.is_neg() else 3)


@program(*SIGNS, refused="branch-unsupported")
class inference_tensor(nn.Module):
    def forward(self, x):
        with torch.inference_mode(x.shape[0] > 1):
            k = x * 2 if x.sum() > 0 else x * 3
        return x * (2 if k.is_inference() else 3)


@program(*SIGNS, refused="branch-unsupported")
class parameter(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(2))

    def forward(self, x):
        k = self.w if x.sum() > 0 else x[0]
        return x * (2 if isinstance(k, nn.Parameter) else 3)


@program(*SIGNS, refused="branch-unsupported")
class class_of_a_parameter(nn.Module):
    def __init__(self):
        super().__init__()
        self.v, self.w = nn.Parameter(torch.ones(2)), nn.Parameter(torch.zeros(2))

    def forward(self, x):
        k = self.w if x.sum() > 0 else self.v
        return x * (2 if type(k) is nn.Parameter else 3)


@program(*SIGNS)
class parameter_that_is_a_tensor(nn.Module):
    def __init__(self):
        super().__init__()
        self.v, self.w = nn.Parameter(torch.ones(2)), nn.Parameter(torch.zeros(2))

    def forward(self, x):
        k = self.w if x.sum() > 0 else self.v
        return k * (2 if isinstance(k, torch.Tensor) else 3), isinstance(k + 1, nn.Parameter)


@program(*SIGNS, refused="branch-unsupported")
class base_of_a_view(nn.Module):
    def forward(self, x):
        y = x * 2
        k = y[:] if x.sum() > 0 else y * 1
        return k * (2 if k._base is None else 3)


@program(*SIGNS, refused="branch-unsupported")
class whether_it_is_a_view(nn.Module):
    def forward(self, x):
        k = x if x.sum() > 0 else x[1:]
        return k.sum() * (2 if k._is_view() else 3)


@program(*SIGNS, refused="branch-unsupported")
class offset_of_a_view(nn.Module):
    def forward(self, x):
        y = x * 2
        k = y[1:] if x.sum() > 0 else y[:2]
        return k * k.storage_offset()


@program(*SIGNS, refused="branch-unsupported")
class offset_of_what_a_loop_carries(nn.Module):
    def forward(self, x):
        k = x[1:]
        while k.sum() < 9:
            k = k + 5 + k.storage_offset()
        return k


@program(*SIGNS, refused="branch-unsupported")
class leaves(nn.Module):
    def forward(self, x):
        with torch.enable_grad():
            k = x.detach().requires_grad_() if x.sum() > 0 else x.detach().requires_grad_() * 1
            return x * (2 if k.is_leaf else 3)


@program(*SIGNS, refused="constant-mutated")
class memory_of_an_array(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            array = np.zeros(2)
            torch.from_numpy(array).add_(1)
            x = torch.from_numpy(array).float() + x
        return x * 2


@program(*SIGNS, refused="constant-mutated")
class memory_of_an_array_in_a_cond(nn.Module):
    def forward(self, x):
        def of_array(x):
            array = np.zeros(2)
            torch.from_numpy(array).add_(1)
            return torch.from_numpy(array).float() + x

        return torch.cond(x.sum() > 0, of_array, lambda x: x * 2, (x,))


@program(*SIGNS)
class memory_of_an_array_that_is_read(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            x = torch.from_numpy(np.ones(2)).float() + x
        return x * 2


@program(*SIGNS)
class gradient_within_the_program(nn.Module):
    def forward(self, x):
        with torch.enable_grad():
            z = x.detach().requires_grad_()
            y = z.sin() if x.sum() > 0 else z.cos()
            return torch.autograd.grad(y.sum(), z)[0]


# -- when objects die --------------------------------------------------------------------------------------------------


class Thing:
    pass


@program(*SIGNS, refused="object-lifetime")
class dies_on_one_side(nn.Module):
    def forward(self, x):
        thing = Thing()
        known = weakref.ref(thing)
        if x.sum() > 0:
            thing = None
        return x * (2 if known() is None else 3)


@program(*SIGNS, refused="object-lifetime")
class dies_behind_a_branch(nn.Module):
    def forward(self, x):
        thing = Thing()
        thing.factor = 1 if x.sum() > 0 else 2
        known, factor = weakref.ref(thing), thing.factor
        del thing
        return x * factor * (2 if known() is None else 3)


@program(*SIGNS, refused="object-lifetime")
class dies_with_a_loop(nn.Module):
    def forward(self, x):
        died = []

        class Watched:
            def __del__(self):
                died.append(1)

        for _ in range((x > 0).sum().item()):
            watched = Watched()
            x = x + 1
        del watched
        return x * len(died)


# -- exceptions: the trace before this one has ended in one, which is none of the program's ----------------------------


@program(*SIGNS)
class context_of_an_exception(nn.Module):
    def forward(self, x):
        y = x * 2 if x.sum() > 0 else x
        try:
            raise KeyError("a")
        except KeyError as error:
            y = y * (2 if error.__context__ is None else 3)
            try:
                int("b")
            except ValueError as second:
                first = second.__context__
                return y, type(first) is KeyError, first.__context__ is None


@program(*SIGNS)
class exception_being_handled(nn.Module):
    def forward(self, x):
        y = x * 2 if x.sum() > 0 else x
        return y * (2 if sys.exc_info()[1] is None else 3), sys.exception() is None
