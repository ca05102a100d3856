# ruff: noqa: F841  (written as people write it)
"""Iterators that one side, or both, move on."""

from __future__ import annotations

from torch import nn

from tests.control_flow.programs.table import SIGNS, program


@program(*SIGNS, refused="branch-unsupported")
class iterator_in_list(nn.Module):
    def forward(self, x):
        box = [iter([1, 2, 3])]
        if x.sum() > 0:
            a = next(box[0])
        return x + next(box[0])


@program(*SIGNS, refused="branch-unsupported")
class iterator_in_cell(nn.Module):
    def forward(self, x):
        it = iter(range(5))

        def bump():
            return next(it)

        if x.sum() > 0:
            x = x + bump()
        return x + next(it)


@program(*SIGNS, refused="branch-unsupported")
class iterator_in_variable_and_list(nn.Module):
    def forward(self, x):
        it = iter([1, 2, 3])
        box = [it]
        if x.sum() > 0:
            a = next(it)
        else:
            a = next(it)
        return x + next(box[0]) + a


@program(*SIGNS)
class iterator_moved_by_both(nn.Module):
    def forward(self, x):
        it = iter([1, 2, 3])
        if x.sum() > 0:
            a = next(it)
        else:
            a = next(it)
        return x + next(it) + a


@program(*SIGNS)
class iterator_moved_by_one(nn.Module):
    def forward(self, x):
        it = iter([1, 2, 3])
        if x.sum() > 0:
            a = next(it)
        for _ in range(2):
            x = x + next(it)
        return x


@program(*SIGNS)
class iterator_carried_on(nn.Module):
    def forward(self, x):
        it = iter([1, 2, 3])
        if x.sum() > 0:
            a = next(it)
        return x + next(it)


@program(*SIGNS)
class pairs_of_one_iterator(nn.Module):
    def forward(self, x):
        it = iter([1, 2, 3, 4])
        for a, b in zip(it, it):
            if x.sum() > a:
                x = x - b
        return x


@program(*SIGNS, refused="branch-unsupported")
class generator_in_list(nn.Module):
    def forward(self, x):
        box = [(i for i in range(4))]
        if x.sum() > 0:
            x = x + next(box[0])
        return x * next(box[0])


@program(*SIGNS)
class iterators_of_the_sides(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            for i, v in enumerate(map(abs, [1, -2])):
                x = x + i * v
        else:
            it = iter(range(3))
            x = x - next(it) - next(it)
        return x


@program(*SIGNS)
class branch_in_a_loop_over_modules(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Tanh(), nn.ReLU(), nn.Sigmoid()])

    def forward(self, x):
        for layer in self.layers:
            y = layer(x)
            if y.sum() > 1:
                x = x - y
            for key in {"a": 1, "b": 2}:
                while x.sum() < len(key):
                    x = x + 1
        return x


@program(*SIGNS)
class generator_expression_moved_by_one(nn.Module):
    """Before its first step a generator expression holds the iterator of its loop in a variable."""

    def forward(self, x):
        numbers = (i for i in [1, 2, 3])
        if x.sum() > 0:
            next(numbers)
        return x + sum(numbers)


@program(*SIGNS, refused="branch-unsupported")
class iterator_that_an_object_gives_to_c(nn.Module):
    """`list` calls `iter()` on its argument, so the iterator is not among the arguments of a call."""

    def forward(self, x):
        class Numbers:
            def __init__(self):
                self.left = iter([1, 2, 3])

            def __iter__(self):
                return self.left

        numbers = Numbers()
        if x.sum() > 0:
            x = x + len(list(numbers))
        return x + sum(numbers.left)


@program(*SIGNS)
class iterator_that_an_object_makes_for_c(nn.Module):
    def forward(self, x):
        class Numbers:
            def __iter__(self):
                return iter(range(3))

        numbers = Numbers()
        if x.sum() > 0:
            x = x + len(list(numbers))
        return x + sum(numbers)
