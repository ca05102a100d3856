"""Questions about memory layout, asked by a kernel or by the program"""

from __future__ import annotations

from tests.export.probe import equal, sound, t


@equal
def contiguous_of_a_transpose_then_asked():
    def f(x):
        y = x.t().contiguous()
        return y + 1 if y.is_contiguous() else y - 1

    return f, (t(3, 4),)


@sound()
def contiguous_of_an_input_is_the_input():
    def f(y):
        return y + 1 if y.contiguous() is y else y - 1

    return f, (t(3, 4),)
