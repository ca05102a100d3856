"""Calls whose sides return values of different kinds, which the caller tells apart."""

from __future__ import annotations

import functools
import sys

import torch
from torch import nn

from tests.control_flow.programs.table import MIX, NEG, POS, SIGNS, call, program

_BIG = torch.full((3, 2), 9.0)


def _found(x):
    if x.sum() > 0:
        return x * 2
    return None


@program(*SIGNS)
class none_or_tensor_of_a_call(nn.Module):
    def forward(self, x):
        found = _found(x)
        if found is None:
            return x - 1
        return found + 1


@program(*SIGNS)
class none_in_an_expression(nn.Module):
    def forward(self, x):
        return x.cos() if _found(x) is None else x.sin()


@program(*SIGNS)
class early_return_of_a_dict(nn.Module):
    def losses(self, x):
        if x.sum() <= 0:
            return {"loss": 0.0}
        return {"loss": x.abs().sum(), "extra": x.max()}

    def forward(self, x):
        total = x.new_zeros(())
        for value in self.losses(x).values():
            total = total + value
        return total


@program(*SIGNS)
class tuple_of_none(nn.Module):
    def split(self, x):
        if x.sum() > 0:
            return x, None
        return None, x

    def forward(self, x):
        left, right = self.split(x)
        y = x * 3
        if left is not None:
            y = y + left
        if right is not None:
            y = y - right.abs()
        return y


class _Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 2)

    def forward(self, x):
        if x.sum() > 0:
            return {"logits": self.linear(x)}
        return {}


@program(*SIGNS)
class dict_of_a_module(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = _Head()

    def forward(self, x):
        out = self.head(x)
        return out.get("logits", x) * 2


@program(*SIGNS)
class through_two_calls(nn.Module):
    def outer(self, x):
        return _found(x)

    def forward(self, x):
        y = self.outer(x)
        z = x + 1
        if y is not None:
            z = z * y
        return z


@program(call(POS), call(NEG), call(MIX), call(_BIG))
class a_branch_within_a_branch(nn.Module):
    def pick(self, x):
        if x.sum() > 0:
            if x.max() > 3:
                return None
            return x + 1
        return (x, x)

    def forward(self, x):
        got = self.pick(x)
        if got is None:
            return x * 0
        if isinstance(got, tuple):
            return got[0] + got[1]
        return got


@program(call(POS), call(NEG), call(MIX), call(_BIG))
class a_call_within_a_side(nn.Module):
    def forward(self, x):
        if x.max() > 1:
            y = _found(x - 1)
            if y is None:
                y = x * 5
        else:
            y = x * 7
        return y + 1


@program(call(POS), call(NEG), call(MIX), call(_BIG))
class one_call_after_another(nn.Module):
    def large(self, x):
        if x.max() > 3:
            return x / 2
        return None

    def forward(self, x):
        one, other = _found(x), self.large(x)
        if one is None:
            one = x
        if other is not None:
            one = one + other
        return one


@program(*SIGNS)
class in_a_loop_of_known_length(nn.Module):
    def forward(self, x):
        for i in range(3):
            y = _found(x - i)
            if y is not None:
                x = y
        return x


@program(*SIGNS)
class in_a_comprehension(nn.Module):
    def forward(self, x):
        kept = [y for y in [_found(x + i) for i in range(2)] if y is not None]
        return sum(kept, x)


@program(call(POS), call(MIX))
class the_caller_raises(nn.Module):
    def forward(self, x):
        y = _found(x)
        if y is None:
            raise ValueError("nothing found")
        return y + 1


@program(*SIGNS)
class an_option_is_set(nn.Module):
    def fill(self, x, options):
        if x.sum() > 0:
            options["scale"] = 2.0
        return options

    def forward(self, x):
        options = self.fill(x, {"shift": 1.0})
        return x * options.get("scale", 1.0) + options["shift"]


@program(*SIGNS)
class a_flag_says_which(nn.Module):
    def run(self, x):
        if x.sum() > 0:
            return True, x
        return False, None

    def forward(self, x):
        ok, value = self.run(x)
        return value * 2 if ok else x.abs()


@program(*SIGNS)
class a_buffer_is_changed_in_the_call(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(()))

    def step(self, x):
        if x.sum() > 0:
            self.count.add_(1)
            return x
        return None

    def forward(self, x):
        y = self.step(x)
        self.count.add_(10)
        return self.count + x if y is None else y + self.count


@program(*SIGNS)
class within_no_grad(nn.Module):
    def forward(self, x):
        with torch.no_grad():
            y = _found(x)
        if y is None:
            return x * 2
        return y


@program(*SIGNS)
class a_decorated_call(nn.Module):
    @torch.no_grad()
    def found(self, x):
        return _found(x)

    def forward(self, x):
        y = self.found(x)
        return x if y is None else x + y


@program(*SIGNS)
class an_iterator_is_handed_on(nn.Module):
    def take(self, x, items):
        if x.sum() > 0:
            return next(items)
        return None

    def forward(self, x):
        items = iter([1.0, 2.0, 3.0])
        first = self.take(x, items)
        second = next(items)
        return x + second if first is None else x * first + second


@program(*SIGNS)
class of_a_return_in_a_finally(nn.Module):
    def guarded(self, x):
        try:
            if x.sum() > 0:
                return x
            return None
        finally:
            self.seen = True

    def forward(self, x):
        y = self.guarded(x)
        return x - 1 if y is None else y + 1


@program(*SIGNS)
class a_class_of_its_own(nn.Module):
    def make(self, x):
        if x.sum() > 0:
            return _Up(x)
        return _Down(x, 2)

    def forward(self, x):
        return self.make(x).value() + 1


class _Up:
    def __init__(self, x):
        self.x = x

    def value(self):
        return self.x * 2


class _Down:
    def __init__(self, x, by):
        self.x, self.by = x, by

    def value(self):
        return self.x / self.by


@program(*SIGNS)
class a_method_is_chosen(nn.Module):
    def activation(self, x):
        if x.sum() > 0:
            return torch.sin
        return torch.cos

    def forward(self, x):
        return self.activation(x)(x)


@program(*SIGNS)
class in_a_handler_of_another_error(nn.Module):
    def forward(self, x):
        try:
            {}["missing"]
        except KeyError:
            y = _found(x)
            if y is None:
                y = x - 5
        return y


@program(*SIGNS, refused="branch-differs")
class returned_to_the_user(nn.Module):
    def forward(self, x):
        return _found(x)


@program(*SIGNS)
class a_handler_around_the_call(nn.Module):
    def forward(self, x):
        try:
            y = _found(x)
            y = y + 1
        except TypeError:
            y = x
        return y


@program(*SIGNS, refused="branch-differs")
class in_a_generator(nn.Module):
    def forward(self, x):
        return sum((y for y in (_found(x + i) for i in range(2)) if y is not None), x)


@program(*SIGNS, refused="branch-differs")
class of_an_operator(nn.Module):
    def forward(self, x):
        y = _Compared() + x
        return x if y is None else y


class _Compared:
    def __add__(self, x):
        return _found(x)


@program(*SIGNS)
class an_option_is_added(nn.Module):
    def forward(self, x):
        options = {"shift": 1.0}
        if x.sum() > 0:
            options["scale"] = 2.0
        return x * options.get("scale", 1.0) + options["shift"]


@program(*SIGNS)
class an_option_is_added_in_a_call(nn.Module):
    def fill(self, x, options):
        if x.sum() > 0:
            options["scale"] = 2.0

    def forward(self, x):
        options = {"shift": 1.0}
        self.fill(x, options)
        return x * options.get("scale", 1.0) + options["shift"]


def _moves(a, b, numbers):
    if a.sum() > 2:
        if b.min() < 0:
            return a * next(numbers)
        a = a + 7
    return a


@program(call(POS), call(NEG), call(MIX), call(_BIG), call(MIX * 3))
class an_iterator_is_moved_by_a_branch_within_a_branch(nn.Module):
    def forward(self, x):
        numbers = iter([1, 2, 3, 4])
        y = _moves(x, x - 1, numbers)
        return y, next(numbers)


@program(call(POS), call(NEG), call(MIX), call(_BIG), call(MIX * 3))
class an_iterator_is_moved_two_calls_away(nn.Module):
    def step(self, x, numbers):
        return _moves(x, x - 1, numbers) + _moves(x + 1, x, numbers)

    def forward(self, x):
        numbers = iter(range(1, 9))
        y = self.step(x, numbers)
        return y, next(numbers)


@program(*SIGNS)
class a_range_is_moved_on_one_side(nn.Module):
    def forward(self, x):
        numbers = iter(range(1, 9))
        if x.sum() > 0:
            x = x * next(numbers)
        return x + next(numbers)


@program(*SIGNS)
class no_exception_is_handled_behind_the_block(nn.Module):
    def inner(self, x):
        try:
            {}["missing"]
        except KeyError:
            z = None
            if x.sum() > 0:
                z = x
            w = 2
        return x - w if z is None else z + w

    def forward(self, x):
        y = self.inner(x)
        return y if sys.exc_info()[0] is None else y * 100


@program(call(POS), call(NEG), call(MIX), call(_BIG))
class a_range_is_moved_by_a_branch_within_a_branch(nn.Module):
    def forward(self, x):
        numbers = iter(range(1, 9))
        if x.sum() > 0:
            if x.max() > 2:
                x = x * next(numbers)
            x = x + next(numbers)
        return x + next(numbers)


@program(*SIGNS, refused="branch-unsupported")
class a_range_that_a_list_holds_is_moved(nn.Module):
    def forward(self, x):
        held = [iter(range(1, 9))]
        if x.sum() > 0:
            numbers = held[0]
            if x.max() > 2:
                x = x * 2
            x = x + next(numbers)
        return x + next(held[0])


@program(*SIGNS)
class a_partial_is_called(nn.Module):
    def take(self, x, y, *, by):
        return x * by if (x + y).sum() > 0 else None

    def forward(self, x):
        take = functools.partial(self.take, x, by=3)
        y = take(x)
        return x - 1 if y is None else y


@program(call(POS), call(NEG), call(MIX), call(_BIG))
class the_call_is_one_side_of_an_expression(nn.Module):
    def forward(self, x):
        y = x if x.max() > 4 else _found(x)
        z = x.cos() if y is None else y.sin()
        return z + 1
