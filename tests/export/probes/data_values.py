"""Data, continued: text of tensors, addresses, clocks, random numbers."""

# Programs as users write them, odd ones too.
# ruff: noqa: E722

from __future__ import annotations

import logging
import random
import time

import torch
from torch import nn

from ..probe import equal, refused, sound, t

VALUE = ("data-dependent-value",)
BRANCH = ("data-dependent-branch", "data-dependent-value")
SHAPE = ("data-dependent-shape", "data-dependent-value")


@refused("unrecordable-id")
def hash_of_an_object():
    class Box:
        pass

    box = Box()

    def forward(x):
        return x * (hash(box) % 7)

    return forward, (t(3),)


@equal
def hash_of_atoms():
    def forward(x):
        return x * (hash(7) + hash((1, 2)) * 0)

    return forward, (t(3),)


@refused("unrecordable-value", "global-rng")
def python_random():
    def forward(x):
        return x * random.random()

    return forward, (t(3),)


@refused("unrecordable-value", "global-rng")
def python_randint_branch():
    def forward(x):
        if random.randint(0, 10) > 5:
            return x
        return x * 2

    return forward, (t(3),)


@refused("unrecordable-value", "global-rng")
def own_random_generator():
    generator = random.Random(3)

    def forward(x):
        return x * generator.random()

    return forward, (t(3),)


@refused("unrecordable-value", "global-rng", "python-state")
def python_shuffle():
    def forward(x):
        order = [0, 1, 2]
        random.shuffle(order)
        return x[order[0]] + 0

    return forward, (t(3),)


@refused("unrecordable-value", "global-rng")
def numpy_random():
    import numpy as np

    def forward(x):
        return x * float(np.random.rand())

    return forward, (t(3),)


@refused("unrecordable-value")
def clock():
    def forward(x):
        return x * (time.time() % 1)

    return forward, (t(3),)


@equal
def clock_that_is_only_measured():
    def forward(x):
        start = time.perf_counter()
        y = x * 2
        elapsed = time.perf_counter() - start
        print("took", elapsed)
        return y

    return forward, (t(3),)


@equal
def clock_in_texts_that_nobody_reads():
    def forward(x):
        start = time.time()
        y = x + 1
        elapsed = time.time() - start
        print(f"took {elapsed:.2f}s, {elapsed}", str(elapsed))
        print("or %.3f, %d" % (elapsed, elapsed), "{}".format(elapsed))  # noqa: UP031, UP032
        logging.getLogger(__name__).info(f"took {round(elapsed, 2)!r}")
        return y

    return forward, (t(3),)


@refused("unrecordable-value")
def clock_in_a_text_that_is_returned():
    def forward(x):
        return x, f"at {time.time():.2f}"

    return forward, (t(3),)


@refused("unrecordable-value")
def clock_in_output():
    def forward(x):
        return x, time.time()

    return forward, (t(3),)


@refused("data-dependent-value", "unrecordable-id")
def address_of_the_data():
    def forward(x):
        return x * (x.data_ptr() % 3)

    return forward, (t(3),)


@equal
def torch_random_operators():
    def forward(x):
        return (
            x + torch.rand(3) + torch.randn_like(x) + torch.randint(0, 5, (3,)) + torch.bernoulli(torch.full((3,), 0.5))
        )

    return forward, (t(3),)


@equal
def randperm_and_multinomial():
    def forward(x):
        return x[torch.randperm(3)], torch.multinomial(x.softmax(0), 2)

    return forward, (t(3),)


@equal
def dropout_functional():
    import torch.nn.functional as F

    def forward(x):
        return F.dropout(x, 0.5, training=True)

    return forward, (t(100),)


@refused("global-rng")
def seeding():
    def forward(x):
        torch.manual_seed(3)
        return x + torch.rand(3)

    return forward, (t(3),)


@sound("generator-argument", "global-rng")
def own_torch_generator():
    generator = torch.Generator().manual_seed(5)

    def forward(x):
        return x + torch.rand(3, generator=generator)

    return forward, (t(3),)


@equal
def branches_on_sizes_and_types():
    def forward(x):
        if x.shape[0] > 2 and x.dtype == torch.float32 and x.device.type == "cpu" and not x.is_cuda:
            return x * x.numel()
        return x

    return forward, (t(3),)


@equal
def item_of_a_python_number_tensor_is_avoided():
    def forward(x):
        scale = torch.tensor(2.0)
        return torch.where(x.sum() > 0, x * scale, -x)

    return forward, (t(3),)


@refused(*BRANCH)
def comparison_of_whole_tensors():
    def forward(x, y):
        return x if torch.equal(x, y) else y

    return forward, (t(3), t(3))


@refused(*BRANCH)
def allclose():
    def forward(x, y):
        return x if torch.allclose(x, y) else y

    return forward, (t(3), t(3))


@sound("data-dependent-branch", "data-dependent-value")
def item_of_a_constant():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("n", torch.tensor(2))

        def forward(self, x):
            return x * self.n.item()

    return M(), (t(3),)


@refused(*BRANCH)
def caught_everything():
    def forward(x):
        try:
            if x.sum() > 0:
                return x
        except Exception:
            return x * 100
        return -x

    return forward, (t(3),)


@refused(*BRANCH)
def caught_with_a_bare_except():
    def forward(x):
        try:
            if x.sum() > 0:
                return x
        except:
            return x * 100
        return -x

    return forward, (t(3),)


@refused(*BRANCH)
def hidden_in_a_callback():
    def forward(x):
        return list(filter(lambda v: v > 0, [x[0], x[1]]))

    return forward, (t(3),)


@equal
def python_number_formatting_by_item_in_a_property():
    class Box:
        def __init__(self, v):
            self.v = v

        @property
        def number(self):
            return self.v.sum().item()

    def forward(x):
        return x * Box(x).number

    return forward, (t(3),)


@refused(*VALUE)
def copy_by_pickle():
    import pickle

    def forward(x):
        return pickle.loads(pickle.dumps(x)) + 1

    return forward, (t(3),)


@equal
def deepcopy_of_a_tensor():
    import copy

    def forward(x):
        y = copy.deepcopy(x)
        y.add_(1)
        return y, copy.copy(x) is x

    return forward, (t(3),)


@sound("data-dependent-value", "unrecordable-value")
def set_order_of_objects():
    class Op:
        def __init__(self, k):
            self.k = k

    ops = {Op(2.0), Op(3.0), Op(5.0)}

    def forward(x):
        for op in ops:
            x = x * op.k + 1
        return x * 0

    return forward, (t(3),)


@equal
def tensors_in_a_literal():
    def forward(x, n):
        literal = torch.tensor([x.sum(), n, 1.5]), torch.tensor([[x[0], x[1]], [n, 2]], dtype=torch.float64)
        return *literal, torch.as_tensor([n, True]), torch.LongTensor([n, 3]), torch.tensor([x[0].item(), x[1]])

    return forward, (t(3), torch.tensor(4))


@equal
def state_in_a_literal():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = nn.Parameter(torch.tensor(2.0))
            self.register_buffer("count", torch.tensor(0))

        def forward(self, x):
            literal = torch.tensor([self.scale, self.count, 0.5])
            self.count += 1
            return x + literal

    return M(), (t(3),)
