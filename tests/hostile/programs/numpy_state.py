"""Objects of numpy's Python and C classes that keep state, and others: made before the trace, changed in forward."""

from __future__ import annotations

import numpy as np
import torch
import torch.fx
import torch.utils.data
import torch.utils.weak
from torch import nn

from tests.export.probe import equal, refused, sound

from .library_state import program


@refused("python-state")
def poly1d_coefficient():
    def forward(self, x):
        self.kept[0] = self.kept[0] + 1
        return x * float(self.kept(2.0))

    return program(forward, np.poly1d([1.0, 2.0]))


@refused("python-state")
def poly1d_variable():
    def forward(self, x):
        self.kept.coeffs[0] += 1
        return x * float(self.kept(2.0))

    return program(forward, np.poly1d([1.0, 2.0]))


@refused("outside-iterator")
def ndenumerate_from_outside():
    def forward(self, x):
        _, value = next(self.kept)
        return x * float(value)

    return program(forward, np.ndenumerate(np.arange(6.0)))


@refused("outside-iterator")
def ndindex_from_outside():
    def forward(self, x):
        return x * next(self.kept)[0]

    return program(forward, np.ndindex(6))


@equal
def ndenumerate_in_forward():
    def forward(self, x):
        for (i,), value in np.ndenumerate(self.kept):
            x = x + i * float(value)
        return x

    return program(forward, np.arange(3.0))


@refused("outside-iterator")
def nditer_from_outside():
    def forward(self, x):
        return x * float(next(self.kept))

    return program(forward, np.nditer(np.arange(6.0)))


@refused("outside-iterator")
def flatiter_from_outside():
    def forward(self, x):
        return x * float(next(self.kept))

    return program(forward, np.arange(6.0).flat)


@refused("outside-iterator")
def broadcast_from_outside():
    def forward(self, x):
        return x * float(next(self.kept)[0])

    return program(forward, np.broadcast(np.arange(6.0), 1))


@refused("outside-iterator")
def broadcast_index():
    def forward(self, x):
        n = self.kept.index
        self.kept.reset()
        return x * n

    return program(forward, np.broadcast(np.arange(6.0), 1))


@refused("unrecordable-value")
def bit_generator_draws():
    def forward(self, x):
        return x * float(self.kept.random_raw() % 3)

    return program(forward, np.random.PCG64(0))


@refused("global-rng")
def bit_generator_jumps():
    def forward(self, x):
        self.kept.bit_generator.advance(1)
        return x * 2

    return program(forward, np.random.default_rng(0))


@equal
def bit_generator_state():
    def forward(self, x):
        state = self.kept.state
        self.kept.state = state
        return x * len(state)

    return program(forward, np.random.PCG64(0))


@refused("python-state")
def bit_generator_state_changed():
    def forward(self, x):
        state = self.kept.state
        state["state"]["state"] += 1
        self.kept.state = state
        return x * len(state)

    return program(forward, np.random.PCG64(0))


@refused("global-rng")
def seed_sequence_spawns():
    def forward(self, x):
        self.kept.spawn(1)
        return x * self.kept.n_children_spawned

    return program(forward, np.random.SeedSequence(1))


@refused("python-state")
def vectorized_function_counts():
    seen = []

    def forward(self, x):
        values = self.kept(np.arange(3))
        return x * float(values.sum()) + len(seen)

    return program(forward, np.vectorize(lambda v: seen.append(v) or v + 1, otypes=[float]))


@equal
def vectorized_function_computes():
    def forward(self, x):
        return x * float(self.kept(np.arange(3)).sum())

    return program(forward, np.vectorize(lambda v: v + 1.0))


@equal
def vectorized_function_caches():
    def forward(self, x):
        self.kept(np.arange(3))
        return x * len(vars(self.kept))

    return program(forward, np.vectorize(lambda v: v + 1.0, cache=True))


@refused("python-state")
def function_of_numpy_counts():
    seen = []

    def forward(self, x):
        self.kept(np.arange(3))
        return x * len(seen)

    return program(forward, np.frompyfunc(lambda v: seen.append(v) or v, 1, 1))


@refused("python-state")
def apply_along_axis_counts():
    seen = []

    def count(v):
        seen.append(1)
        return v.sum()

    def forward(self, x):
        a = np.apply_along_axis(count, 0, np.ones((2, 2)))
        return x * float(a.sum()) + len(seen)

    return program(forward)


@refused("python-state")
def piecewise_counts():
    seen = []

    def forward(self, x):
        a = np.piecewise(np.arange(3.0), [np.arange(3) > 1], [lambda v: seen.append(1) or v * 2, 0.0])
        return x * float(a.sum()) + len(seen)

    return program(forward)


@refused("python-state")
def fromfunction_counts():
    seen = []

    def forward(self, x):
        a = np.fromfunction(lambda i: seen.append(1) or i, (3,))
        return x * float(a.sum()) + len(seen)

    return program(forward)


@refused("python-state")
def fromiter_of_a_generator():
    seen = []

    def forward(self, x):
        a = np.fromiter((seen.append(i) or i for i in range(3)), float)
        return x * float(a.sum()) + len(seen)

    return program(forward)


@refused("python-state")
def apply_over_axes_counts():
    seen = []

    def count(v, axis):
        seen.append(1)
        return v.sum(axis)

    def forward(self, x):
        a = np.apply_over_axes(count, np.ones((2, 2)), [0, 1])
        return x * float(a.sum()) + len(seen)

    return program(forward)


@equal
def printoptions_of_numpy():
    def forward(self, x):
        with np.printoptions(precision=2):
            x = x * len(str(np.array([1.23456])))
        return x

    return program(forward)


@refused("python-state")
def error_state_of_numpy():
    seen = []

    def forward(self, x):
        with np.errstate(divide="call", call=lambda *a: seen.append(a)):
            a = np.ones(1) / np.zeros(1)
        return x * len(seen) + float(a[0] > 0)

    return program(forward)


@refused("python-state")
def generic_polynomial():
    def forward(self, x):
        self.kept.coef[0] += 1
        return x * float(self.kept(2.0))

    return program(forward, np.polynomial.Polynomial([1.0, 2.0]))


@equal
def machine_limits():
    def forward(self, x):
        return x * float(np.finfo(np.float32).eps) + torch.finfo(torch.float32).eps

    return program(forward)


@refused("python-state")
def masked_array_of_numpy():
    def forward(self, x):
        self.kept.mask[0] = not self.kept.mask[0]
        return x * float(self.kept.sum())

    return program(forward, np.ma.array([1.0, 2.0], mask=[False, False]))


@sound()
def handle_of_a_hook_dict():
    from torch.utils.hooks import BackwardHook

    def forward(self, x):
        self.kept.user_hooks.append(1)
        return x * len(self.kept.user_hooks)

    return program(forward, BackwardHook(nn.Identity(), [], []))


@equal
def stride_of_a_size_node():
    def forward(self, x):
        ones = torch.ones(x.shape)
        return x * ones.numel()

    return program(forward)


@refused("python-state")
def tracer_of_fx():
    def forward(self, x):
        self.kept.submodule_paths = {}
        self.kept.scope.module_path = self.kept.scope.module_path + "a"
        return x * len(self.kept.scope.module_path)

    return program(forward, torch.fx.Tracer())
