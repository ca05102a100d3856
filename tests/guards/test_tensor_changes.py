"""Each change of a tensor's metadata makes its guard fail. The oracle is `facts_of` of the changed tensor."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dynamo_lite.guards import Guard, GuardSet, facts_of
from dynamo_lite.guards.source import child, root
from dynamo_lite.tracing.vocabulary.process_state import default_device

from . import ways

CHANGES: Mapping[str, Callable[[Any], Any]] = {
    "resize_": lambda t: t.resize_(*reversed(t.shape), 2) if t.dim() else t.resize_(3),
    "resize_ to as many": lambda t: t.resize_(*reversed(t.shape)),
    "resize_ of one": lambda t: t.resize_(t.shape[0] + 1, *t.shape[1:]),
    "transpose_": lambda t: t.transpose_(0, -1),
    "unsqueeze_": lambda t: t.unsqueeze_(0),
    "squeeze_": lambda t: t.squeeze_(),
    "as_strided_": lambda t: t.as_strided_(t.shape, [1] * t.dim()),
    "set_": lambda t: t.set_(t.new_zeros(3, 1)),
    "another dtype": lambda t: setattr(t, "data", t.data.double()),
    "sizes by data": lambda t: setattr(t, "data", t.data.new_zeros(4, 1, 7)),
    "requires_grad_": lambda t: t.requires_grad_(not t.requires_grad),
    "requires_grad": lambda t: setattr(t, "requires_grad", not t.requires_grad),
    "history": lambda t: t.mul_(torch.ones_like(t, requires_grad=True)),
    "detach_": lambda t: t.detach_(),
    "a plain class": lambda t: setattr(t, "__class__", torch.Tensor),
    "a Parameter": lambda t: setattr(t, "__class__", torch.nn.Parameter),
    "swapped": lambda t: torch.utils.swap_tensors(t, type(t)(t.detach().new_zeros(9))),
    "back and forth": lambda t: t.requires_grad_(True) and t.requires_grad_(False),
}
"""Ways to change a tensor from outside."""


def tensors() -> Iterator[tuple[str, torch.Tensor]]:
    """A tensor of each form, with a name for it."""
    for rank in range(6):
        yield f"rank {rank}", torch.zeros((2, 3, 1, 4, 5)[:rank], dtype=torch.float32, device="cpu")
    for requires_grad in (True, False):
        data = torch.zeros(2, 3, dtype=torch.float32, device="cpu")
        yield f"parameter {requires_grad}", torch.nn.Parameter(data, requires_grad)
    yield "was one", torch.zeros(2, 3, dtype=torch.float32, device="cpu").requires_grad_().requires_grad_(False)
    yield "made", torch.ones(2, 3, dtype=torch.float32, device="cpu", requires_grad=True) * 2
    yield "meta", torch.zeros(2, 3, dtype=torch.float32, device="meta")


FORMS = [name for name, _ in tensors()]
REFUSED = (RuntimeError, TypeError, IndexError, NotImplementedError)


class Holder:
    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor


def _guards(tensor: Any, keys: bool) -> GuardSet:
    mod = root("function")
    at = child(child(mod, "dict"), "item", "tensor")
    return GuardSet([Guard("type", mod, Holder), Guard("tensor", at, facts_of(tensor, keys=keys))])


@pytest.mark.parametrize("keys", [True, False])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("change", CHANGES)
def test_a_change_of_a_tensor_is_told(form: str, change: str, keys: bool) -> None:
    tensor = dict(tensors())[form]
    holder, guards = Holder(tensor), _guards(tensor, keys)
    before = facts_of(tensor, keys=keys)
    assert ways.failing(guards, holder) == -1
    try:
        CHANGES[change](tensor)
    except REFUSED:
        return
    assert ways.failing(guards, holder) == (-1 if facts_of(tensor, keys=keys) == before else 1)


@given(st.sampled_from(FORMS), st.lists(st.sampled_from(sorted(CHANGES)), min_size=1, max_size=6))
@settings(max_examples=150, deadline=None)
def test_changes_one_after_the_other(form: str, changes: list[str]) -> None:
    tensor = dict(tensors())[form]
    holder, guards, before = Holder(tensor), _guards(tensor, True), facts_of(tensor)
    for change in changes:
        try:
            CHANGES[change](tensor)
        except REFUSED:
            continue
        assert ways.failing(guards, holder) == (-1 if facts_of(tensor) == before else 1)


@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.zeros(2, 3, 1, 1, 1, 1, 2),  # sizes in memory of their own
        lambda: torch.zeros(4, 4).t(),  # a view
        lambda: torch.zeros(4, requires_grad=True)[:2],
        lambda: torch.zeros(2, 3).to_sparse(),
    ],
)
def test_tensors_of_other_layouts_are_asked_for_their_sizes(make: Any) -> None:
    tensor = make()
    holder, guards = Holder(tensor), _guards(tensor, True)
    assert ways.failing(guards, holder) == -1
    holder.tensor = torch.zeros(9)
    assert ways.failing(guards, holder) == 1


def test_a_view_follows_its_base() -> None:
    base = torch.zeros(4)
    tensor = base[:2]
    holder, guards = Holder(tensor), _guards(tensor, True)
    assert ways.failing(guards, holder) == -1
    base.mul_(torch.ones(4, requires_grad=True))
    assert ways.failing(guards, holder) == 1


def test_what_does_not_change_the_facts_fails_no_guard() -> None:
    tensor = torch.nn.Parameter(torch.zeros(2, 3))
    holder, guards = Holder(tensor), _guards(tensor, True)
    assert ways.failing(guards, holder) == -1
    (tensor * 2).sum().backward()
    with torch.no_grad():
        tensor.add_(1)
    torch.optim.SGD([tensor], 0.1).step()
    tensor.data = torch.ones(2, 3)
    tensor.grad = None
    assert ways.failing(guards, holder) == -1


def test_the_quick_default_device_is_torchs() -> None:
    for device in ("cpu", "meta"):
        with torch.device(device):
            assert default_device() == torch.get_default_device() == torch.device(device)
    try:
        torch.set_default_device("meta")
        assert default_device() == torch.get_default_device() == torch.device("meta")
        with torch._C.DisableTorchFunction():
            assert default_device() == torch.get_default_device()
    finally:
        torch.set_default_device(None)
    assert default_device() == torch.get_default_device() == torch.device("cpu")
