"""Results of forward that torch.inference_mode makes: in eager these are inference tensors."""

from __future__ import annotations

import torch
from torch import nn

from tests.export.probe import equal, refused, sound, t


def _program(name, fn, make, decorate):
    def build():
        return fn, make()

    build.__name__ = name
    globals()[name] = decorate(build)


def _ordinary():
    return (t(3),)


def _inference():
    with torch.inference_mode():
        return (t(3),)


def within(mode, compute):
    """What `compute` makes in inference mode."""

    def f(x):
        with torch.inference_mode(mode):
            return compute(x)

    return f


def then(compute, after):
    def f(x):
        with torch.inference_mode():
            y = compute(x)
        return after(x, y)

    return f


def nested(x):
    with torch.inference_mode(), torch.inference_mode(False):
        return x + 1


REFUSED = {
    "result": within(True, lambda x: x + 1),
    "decorated": torch.inference_mode()(lambda x: x + 1),
    "view_of_result": then(lambda x: x + 1, lambda x, y: y[:2]),
    "in_containers": then(lambda x: x + 1, lambda x, y: ({"y": [y]}, x)),
    "literal": within(True, lambda x: torch.tensor([1.0, 2.0])),
    "factory": within(True, lambda x: (torch.zeros(2), x)),
    "truth": within(True, lambda x: x.sum() > 0),
}
EQUAL = {
    "used_outside": then(lambda x: x + 1, lambda x, y: y * 2),
    "cloned_outside": then(lambda x: x + 1, lambda x, y: y.clone()),
    "view_of_argument": within(True, lambda x: x.view(-1)),
    "argument_changed": then(lambda x: x.add_(1), lambda x, y: x),
    "switched_off": within(False, lambda x: x + 1),
    "switched_off_inside": nested,
    "number": within(True, lambda x: (x.shape[0], 3)),
}
for _name, _fn in REFUSED.items():
    _program(_name, _fn, _ordinary, refused("inference-output"))
for _name, _fn in EQUAL.items():
    _program(_name, _fn, _ordinary, equal)
_program("of_inference_tensor", within(True, lambda x: x * 2), _inference, refused("inference-output"))
_program("inference_tensor_outside", lambda x: x + 1, _inference, equal)
_program("inference_tensor_viewed", within(True, lambda x: (x[:2], x)), _inference, equal)


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def generated(self, x):
        with torch.inference_mode():
            return self.linear(x).argmax()

    def forward(self, x):
        return self.generated(x) + 0


@equal
def method():
    return Model(), (t(3),)


@sound("inference-output")
def on_one_side_of_a_branch():
    def f(x):
        if x.sum() > 0:
            with torch.inference_mode():
                return x + 1
        return x * 2

    return f, (t(3),)
