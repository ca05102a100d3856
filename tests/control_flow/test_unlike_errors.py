"""Sides of a branch that raise different errors: the assertion of the program names each of them."""

from __future__ import annotations

import pytest
import torch

import dynamo_lite


class OneInTheOther(torch.nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            if x.sum() > 10:
                raise ValueError("large")
            raise KeyError("small")
        return x + 1


class ThreeErrors(torch.nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            if x.sum() > 10:
                if x[0] > 5:
                    raise ValueError("large")
                raise TypeError("first")
            raise KeyError("small")
        return x + 1


class OneError(torch.nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            raise ValueError("large" if x.sum() > 10 else "small")
        return x + 1


@pytest.mark.parametrize(
    ("module", "texts"),
    [
        (OneInTheOther, ["ValueError: large", "KeyError: 'small'"]),
        (ThreeErrors, ["ValueError: large", "TypeError: first", "KeyError: 'small'"]),
        (OneError, ["ValueError"]),
    ],
)
def test_the_assertion_names_each_error(module, texts):
    x = torch.tensor([-1.0, 0.0])
    program = dynamo_lite.export(module(), (x,)).module()
    assert torch.equal(program(x), module()(x))
    for bad in (x + 2, x + 9, x + 5.8):
        with pytest.raises((ValueError, KeyError, TypeError)):
            module()(bad)
        with pytest.raises(RuntimeError) as error:
            program(bad)
        assert all(text in str(error.value) for text in texts)
