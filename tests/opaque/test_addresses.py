"""Text with an address in it: refused where it gets into the program, harmless elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

import dynamo_lite
from dynamo_lite.errors import UnrecordableValue

X = torch.ones(2)


class Plain:
    pass


class Named:
    def __repr__(self) -> str:
        return "<Named at home>"


ONE, TWO, NAMED = Plain(), Plain(), Named()
BOTH = [ONE, TWO]


class Model(nn.Module):
    def __init__(self, body: Callable[[torch.Tensor], Any]) -> None:
        super().__init__()
        self.body = body

    def forward(self, x: torch.Tensor) -> Any:
        return self.body(x)


def _sorted_in_place(x: torch.Tensor) -> torch.Tensor:
    texts = [str(item) for item in BOTH]
    texts.sort()
    return x * texts.index(str(ONE))


REFUSED: dict[str, Callable[[torch.Tensor], Any]] = {
    "repr": lambda x: (x, repr(ONE)),
    "an f-string": lambda x: (x, f"made by {ONE}"),
    "format": lambda x: (x, "{}".format(ONE)),  # noqa: UP032
    "per cent": lambda x: (x, "%s" % [ONE]),
    "a function": lambda x: (x, str(_sorted_in_place)),
    "a key": lambda x: {f"{ONE}": x},
    "sorted by repr": lambda x: x * sorted(BOTH, key=repr).index(ONE),
    "sorted texts": lambda x: x * sorted([str(item) for item in BOTH]).index(str(ONE)),
    "the least": lambda x: x * BOTH.index(min(BOTH, key=str)),
    "sort": _sorted_in_place,
}


def _in_messages(x: torch.Tensor) -> Any:
    table = {repr(ONE): 3, repr(TWO): 4}
    try:
        raise ValueError(f"not with {ONE}")
    except ValueError:
        return x * table[repr(ONE)]


FINE: dict[str, Callable[[torch.Tensor], Any]] = {
    "a message and a key": _in_messages,
    "text of its own": lambda x: (x, repr(NAMED), str(Plain), str(x.dtype)),
    "sorted by another text": lambda x: x * sorted([3, 1, 20], key=repr)[1],
    "sorted by a name": lambda x: (x, sorted([NAMED, NAMED], key=repr)[0] is NAMED),
}


@pytest.mark.parametrize("body", REFUSED.values(), ids=REFUSED)
def test_an_address_does_not_get_into_the_program(body: Callable[[torch.Tensor], Any]) -> None:
    with pytest.raises(UnrecordableValue) as caught:
        dynamo_lite.export(Model(body), (X,))
    assert caught.value.id == "unrecordable-id" and "address" in str(caught.value)


@pytest.mark.parametrize("body", FINE.values(), ids=FINE)
def test_text_that_does_not_matter_is_fine(body: Callable[[torch.Tensor], Any]) -> None:
    model = Model(body)
    assert str(dynamo_lite.export(model, (X,)).module()(X)) == str(model(X))
