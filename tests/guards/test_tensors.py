"""Guards on tensors: the generated condition, the words for a difference and torch's own view of a tensor agree."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dynamo_lite.guards import Guard, GuardSet, facts_of, root
from dynamo_lite.guards.tensors import difference

MAKERS: dict[str, Any] = {
    "plain": lambda: torch.zeros(2, 3),
    "other values": lambda: torch.ones(2, 3),
    "float64": lambda: torch.zeros(2, 3, dtype=torch.float64),
    "wider": lambda: torch.zeros(2, 4),
    "taller": lambda: torch.zeros(5, 3),
    "rank 1": lambda: torch.zeros(6),
    "transposed": lambda: torch.zeros(3, 2).t(),
    "sliced": lambda: torch.zeros(2, 6)[:, ::2],
    "expanded": lambda: torch.zeros(1, 3).expand(2, 3),
    "one row": lambda: torch.zeros(1, 3),
    "learns": lambda: torch.zeros(2, 3, requires_grad=True),
    "parameter": lambda: torch.nn.Parameter(torch.zeros(2, 3)),
    "frozen parameter": lambda: torch.nn.Parameter(torch.zeros(2, 3), requires_grad=False),
    "meta": lambda: torch.zeros(2, 3, device="meta"),
    "conj": lambda: torch.zeros(2, 3, dtype=torch.complex64).conj(),
    "complex": lambda: torch.zeros(2, 3, dtype=torch.complex64),
    "sparse": lambda: torch.zeros(2, 3).to_sparse(),
    "inference": lambda: _inference(),
}


def _inference() -> torch.Tensor:
    with torch.inference_mode():
        return torch.zeros(2, 3)


def _view(tensor: torch.Tensor) -> tuple[Any, ...]:
    strides = tensor.stride() if tensor.layout is torch.strided else None
    keys = str(torch._C._dispatch_keys(tensor))
    return (type(tensor), tensor.dtype, tensor.device, tensor.layout, tensor.requires_grad, tensor.shape, strides, keys)


@given(st.sampled_from(sorted(MAKERS)), st.sampled_from(sorted(MAKERS)))
@settings(deadline=None, max_examples=200)
def test_a_tensor_passes_exactly_where_torch_sees_no_difference(before: str, now: str) -> None:
    facts, tensor = facts_of(MAKERS[before]()), MAKERS[now]()
    same = _view(MAKERS[before]()) == _view(tensor)
    guards = GuardSet([Guard("tensor", root("argument", 0), facts)])
    assert (guards.failing(None, (tensor,)) == -1) == same
    assert (difference(tensor, facts) == "") == same


@pytest.mark.parametrize(
    ("now", "passes"),
    [("plain", True), ("taller", True), ("one row", True), ("wider", False), ("transposed", False), ("rank 1", False)],
)
def test_open_sizes(now: str, passes: bool) -> None:
    facts, tensor = facts_of(MAKERS["plain"](), dynamic=(0,)), MAKERS[now]()
    assert (GuardSet([Guard("tensor", root("argument", 0), facts)]).failing(None, (tensor,)) == -1) == passes
    assert (difference(tensor, facts) == "") == passes


def test_the_words_name_what_differs() -> None:
    facts = facts_of(MAKERS["plain"]())
    assert "sizes [2, 4]" in difference(MAKERS["wider"](), facts)
    assert "dtype torch.float64" in difference(MAKERS["float64"](), facts)
    assert "strides (1, 2)" in difference(MAKERS["transposed"](), facts)
    assert difference(3, facts) == "a builtins.int"
