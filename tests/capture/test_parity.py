"""The recorded programs against torch.export's, operator for operator, and against eager, value for value."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch.export import ExportedProgram
from torch.utils import _pytree as pytree

from tests.capture.modules import CASES
from tests.capture.native import export_natively
from tests.parity import operators

# Where the programs differ on purpose: name -> operators that ours has more (+) or fewer (-). docs/capture.md says why.
DIFFERENCES: dict[str, dict[str, int]] = {
    "regions": {"wrap_with_set_grad_enabled": -2},  # strict=False keeps two regions without operators
}
REFUSED_BY_TORCH = {"data_and_detach"}  # .data leaves a FakeTensor constant there


def assert_same(actual: Any, expected: Any) -> None:
    leaves, spec = pytree.tree_flatten(actual)
    expected_leaves, expected_spec = pytree.tree_flatten(expected)
    assert spec == expected_spec
    for got, want in zip(leaves, expected_leaves):
        if isinstance(want, torch.Tensor):
            torch.testing.assert_close(got, want, rtol=0, atol=0, equal_nan=True)
            assert got.requires_grad == want.requires_grad
        else:
            assert got == want


@pytest.mark.parametrize("name", CASES)
def test_equals_eager_twice(name: str) -> None:
    module, args, kwargs = CASES[name]()
    eager = copy.deepcopy(module)
    exported = export_natively(module, copy.deepcopy(args), kwargs).module()
    for _ in range(2):  # the second call sees the buffers that the first one changed
        ours, theirs = copy.deepcopy((args, kwargs)), copy.deepcopy((args, kwargs))
        assert_same(exported(*ours[0], **ours[1]), eager(*theirs[0], **theirs[1]))
        assert_same(ours, theirs)  # mutated inputs
    state = dict(eager.named_buffers())
    for fqn, buffer in exported.named_buffers():
        if fqn in state:
            torch.testing.assert_close(buffer, state[fqn])


@pytest.mark.parametrize("name", [name for name in CASES if name not in REFUSED_BY_TORCH])
def test_same_operators_and_signature_as_torch_export(name: str) -> None:
    module, args, kwargs = CASES[name]()
    ours = export_natively(module, copy.deepcopy(args), kwargs)
    theirs = torch.export.export(module, copy.deepcopy(args), kwargs, strict=False)
    mine, reference = operators(ours.graph_module), operators(theirs.graph_module)
    difference = {op: mine[op] - reference[op] for op in mine | reference if mine[op] != reference[op]}
    assert difference == DIFFERENCES.get(name, {})
    assert ours.call_spec == theirs.call_spec
    assert call_graph(ours) == call_graph(theirs)
    assert ours.state_dict.keys() == theirs.state_dict.keys()
    specs = [[(s.kind, s.target, s.persistent, s.arg) for s in e.graph_signature.input_specs] for e in (ours, theirs)]
    assert specs[0] == specs[1]
    outputs = [[(s.kind, s.target, type(s.arg)) for s in e.graph_signature.output_specs] for e in (ours, theirs)]
    assert outputs[0] == outputs[1]
    values = [[n.meta["val"] for n in e.graph.nodes if n.op == "placeholder"] for e in (ours, theirs)]
    assert [describe(value) for value in values[0]] == [describe(value) for value in values[1]]


def call_graph(program: ExportedProgram) -> list[Any]:
    return [(e.fqn, e.signature and e.signature.forward_arg_names) for e in program.module_call_graph]


def describe(value: Any) -> Any:
    if not isinstance(value, torch.Tensor):
        return value
    return value.shape, value.stride(), value.dtype, value.device, value.requires_grad
