"""`del self.v` before each call stores it anew: the attribute has to be there, and what it was does not matter."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

import dynamo_lite
from dynamo_lite.errors import GraphBreak


class Base(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.value: Any = None


class Deletes(Base):
    def forward(self, x):
        del self.value
        self.value = x.cos()
        return x + self.value


class InAHook(Base):
    """As an extractor of features does."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Identity()
        self.layer.register_forward_hook(self.keep)

    def keep(self, module, inputs, output):
        self.value = output.detach().cos()

    def forward(self, x):
        del self.value
        self.value = None
        return self.layer(x) + self.value


class Holder:
    def __init__(self) -> None:
        self.value = None


class OfAnObject(Base):
    def __init__(self) -> None:
        super().__init__()
        self.holder = Holder()

    def forward(self, x):
        del self.holder.value
        self.holder.value = x.cos()
        return x + self.holder.value


X = torch.tensor([1.0, 2.0, 3.0])


@pytest.mark.parametrize("cls", [Deletes, InAHook, OfAnObject])
def test_what_was_there_does_not_matter(cls: type[Base]) -> None:
    module, eager = cls(), cls()
    trace = dynamo_lite.trace(module, (X,))
    assert "value" in vars(module) and module.value is None
    assert any("'value' present" in str(guard) for guard in trace.guards)
    run = trace.program.module()
    for step in range(3):
        assert torch.equal(run(X + step), eager(X + step))


class ReadsFirst(Base):
    def forward(self, x):
        count = int(self.value is None)
        del self.value
        self.value = x.cos()
        return x * count


class LooksFirst(ReadsFirst):
    def forward(self, x):
        count = int("value" in vars(self))
        del self.value
        self.value = x.cos()
        return x * count


class ShowsFirst(ReadsFirst):
    def forward(self, x):
        count = len([value for value in vars(self).values() if value is None])
        del self.value
        self.value = x.cos()
        return x * count


class AddsUp(ReadsFirst):
    def forward(self, x):
        old = self.value
        del self.value
        self.value = x.cos() if old is None else old + x
        return x + self.value


class NeverThere(ReadsFirst):
    def forward(self, x: Tensor) -> Tensor:
        try:
            del self.other
            count = 1
        except AttributeError:
            count = 2
        self.other = x.cos()
        return x * count


@pytest.mark.parametrize("cls", [ReadsFirst, LooksFirst, ShowsFirst, AddsUp, NeverThere])
def test_what_a_later_call_would_see_is_refused(cls: type[Base]) -> None:
    with pytest.raises(GraphBreak) as caught:
        dynamo_lite.export(cls(), (X,))
    assert caught.value.id == "new-state-tensor"
