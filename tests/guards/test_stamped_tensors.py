"""Stamps of guards on tensors: every way to change a tensor's metadata is told. The oracle is the unstamped check."""

from __future__ import annotations

import sys
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dynamo_lite.guards import Guard, GuardSet, facts_of
from dynamo_lite.guards.source import child, root
from dynamo_lite.guards.stamps._torch_tags import agree
from dynamo_lite.guards.stamps._torch_tensors import CHANGES, tensor_layout, tensors
from dynamo_lite.guards.stamps.layout import Layout, layout
from dynamo_lite.tracing.vocabulary.process_state import default_device

from . import ways

pytest.importorskip("numpy")
pytestmark = pytest.mark.skipif(layout() is None, reason="no version tags on this Python")

FORMS = [name for name, _ in tensors()]
REFUSED = (RuntimeError, TypeError, IndexError, NotImplementedError)


@pytest.fixture(autouse=True)
def _stamps_for_few_guards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dynamo_lite.guards.stamps.stamp.FEWEST", 1)


class Holder:
    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor


def _guards(tensor: Any, keys: bool) -> GuardSet:
    mod = root("function")
    at = child(child(mod, "dict"), "item", "tensor")
    return GuardSet([Guard("type", mod, Holder), Guard("tensor", at, facts_of(tensor, keys=keys))])


def test_there_is_a_layout_and_torch_reads_the_same_tags() -> None:
    found = layout()
    assert tensor_layout() is not None and found is not None
    assert agree(found)
    assert agree(Layout(16, *found[1:])) == (sys.version_info >= (3, 12))


@pytest.mark.parametrize("keys", [True, False])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("change", CHANGES)
def test_a_change_of_a_tensor_is_told(form: str, change: str, keys: bool) -> None:
    tensor = dict(tensors())[form]
    holder, guards = Holder(tensor), _guards(tensor, keys)
    stamp = ways.stamp(guards, holder)
    assert stamp is not None and stamp.covered == {0, 1}
    try:
        CHANGES[change](tensor)
    except REFUSED:
        return
    ways.failing(guards, holder)


@given(st.sampled_from(FORMS), st.lists(st.sampled_from(sorted(CHANGES)), min_size=1, max_size=6))
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_changes_one_after_the_other(form: str, changes: list[str]) -> None:
    tensor = dict(tensors())[form]
    holder, guards = Holder(tensor), _guards(tensor, True)
    ways.stamp(guards, holder)
    for change in changes:
        try:
            CHANGES[change](tensor)
        except REFUSED:
            continue
        if ways.failing(guards, holder) == -1:
            for _ in range(40):
                assert guards.failing(holder) == -1


@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.zeros(2, 3, 1, 1, 1, 1, 2),  # sizes in memory of their own
        lambda: torch.zeros(4, 4).t(),  # a view
        lambda: torch.zeros(4, requires_grad=True)[:2],
        lambda: torch.zeros(2, 3).to_sparse(),
    ],
)
def test_what_words_cannot_tell_is_asked_each_time(make: Any) -> None:
    tensor = make()
    holder, guards = Holder(tensor), _guards(tensor, True)
    stamp = ways.stamp(guards, holder)
    assert stamp is not None and stamp.covered == {0}


def test_a_view_follows_its_base() -> None:
    base = torch.zeros(4)
    tensor = base[:2]
    holder, guards = Holder(tensor), _guards(tensor, True)
    ways.stamp(guards, holder)
    base.mul_(torch.ones(4, requires_grad=True))
    assert ways.failing(guards, holder) == 1


def test_what_does_not_change_the_facts_breaks_no_stamp() -> None:
    tensor = torch.nn.Parameter(torch.zeros(2, 3))
    holder, guards = Holder(tensor), _guards(tensor, True)
    stamp = ways.stamp(guards, holder)
    (tensor * 2).sum().backward()
    with torch.no_grad():
        tensor.add_(1)
    torch.optim.SGD([tensor], 0.1).step()
    tensor.data = torch.ones(2, 3)
    tensor.grad = None
    assert ways.failing(guards, holder) == -1 and guards._same.stamp is stamp


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
