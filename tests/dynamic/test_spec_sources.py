"""Specifications that come from elsewhere: collections, further examples, marks on tensors."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
import torch
from torch._dynamo import mark_dynamic, mark_static, maybe_mark_dynamic
from torch._dynamo.decorators import mark_unbacked
from torch.export import AdditionalInputs, Dim, ShapesCollection
from torch.export import dynamic_shapes as torchs

import dynamo_lite
from dynamo_lite.program.shapes.dynamic_shapes import InvalidDynamicShapes, read_call, settle
from dynamo_lite.symbolic_shapes.expressions.expr import INF
from dynamo_lite.symbolic_shapes.torch_env.inputs import Fresh
from tests.dynamic.spec_cases import Cache, declared, sizes, tensor


def xy(x: Any, y: Any) -> None: ...


def one(x: Any) -> None: ...


B = Dim("b")
X, Y = tensor(4, 5), tensor(9, 4)


def test_a_shapes_collection() -> None:
    collection = ShapesCollection()
    collection[X] = (B, B + 1)
    collection[Y][0] = Dim.AUTO
    assert sizes(one, ({"a": [X], "b": Y},), collection) == {
        "x['a'][0].shape[0]": "s0", "x['a'][0].shape[1]": "s0 + 1", "x['b'].shape[0]": "s1"}
    assert sizes(one, (Cache(X, Y),), collection) == {
        "x.layers[0].shape[0]": "s0", "x.layers[0].shape[1]": "s0 + 1", "x.layers[1].shape[0]": "s1"}


def test_a_shapes_collection_of_ints() -> None:
    wrapped = torchs._IntWrapper(3)
    collection = ShapesCollection()
    collection[wrapped] = Dim.DYNAMIC
    assert sizes(one, ([wrapped, X],), collection) == {"x[0]": "s0"}


def test_a_shapes_collection_for_other_tensors() -> None:
    collection = ShapesCollection()
    collection[tensor(2)] = (B,)
    with pytest.raises(InvalidDynamicShapes, match="the ShapesCollection does not fit: Some tensors"):
        sizes(one, (X,), collection)


def test_additional_inputs() -> None:
    more = AdditionalInputs()
    more.add((tensor(8, 5), 3))
    more.add((tensor(2, 5),), {"y": 4})
    assert sizes(xy, (X, 3), more) == {"x.shape[0]": "s0", "y": "s1"}


def test_additional_inputs_are_verified() -> None:
    more = AdditionalInputs()
    more.add((tensor(8, 5),))
    more.add((tensor(6, 5),))
    call = read_call(inspect.signature(one), (X,), {}, more)
    inputs, env = declared(one, (X,), call.specs)
    s = inputs.table.sizes[0]
    env.core.evaluate(s % 2 <= 0)
    call.verify(settle(inputs, env))
    env.core.evaluate(s % 4 <= 0)
    with pytest.raises(InvalidDynamicShapes, match=r"the additional inputs #1 are not admitted: L\['x'\]"):
        call.verify(settle(inputs, env))


def test_additional_inputs_of_another_kind() -> None:
    more = AdditionalInputs()
    more.add((X, "other"))
    with pytest.raises(InvalidDynamicShapes, match=r"AdditionalInputs does not fit: .*differing values"):
        sizes(xy, (X, "text"), more)


# -- marks ----------------------------------------------------------------------------------------------------------
def test_marks() -> None:
    x, y = tensor(4, 5, 6), tensor(7, 3)
    mark_dynamic(x, 0, min=2, max=9)
    maybe_mark_dynamic(x, [1, 2])
    mark_static(x, 2)
    mark_unbacked(y, 0)
    inputs, _ = declared(xy, (x, y), None)
    first, second = inputs.policies
    assert [str(s) for s in first.sizes] == ["s0", "s1", "None"]
    assert [(s.lo, s.hi) for s in inputs.table.symbols()] == [(2, 9), (0, INF)]
    assert second.sizes == [Fresh(lo=0, unbacked=True), None]
    assert x._dynamo_dynamic_indices == {0}  # the user's own marks stay


def test_marks_count_only_where_nothing_is_said() -> None:
    x = tensor(4, 5)
    mark_dynamic(x, 0)
    assert sizes(one, (x,), None) == {"x.shape[0]": "s0"}
    assert sizes(one, (x,), {"x": None}) == {}
    assert sizes(one, (x,), {"x": {1: Dim.DYNAMIC}}) == {"x.shape[1]": "s0"}


def test_marks_with_one_shape_id_have_one_size() -> None:
    x, y = tensor(4, 5), tensor(4, 3)
    for t in (x, y):
        mark_unbacked(t, 0, shape_id="batch")
    inputs, env = declared(xy, (x, y), None)
    first, second = inputs.policies
    assert first.sizes[0] is second.sizes[0] and env.hint_of(first.sizes[0]) is None
    assert settle(inputs, env).guards == ["L['y'].size()[0] == L['x'].size()[0]"]


def test_a_marked_tensor_may_be_what_one_side_of_a_branch_leaves() -> None:
    def doubled(x: Any) -> Any:
        return x * 2 if x.shape[0] > 3 else x

    x = tensor(4, 5)
    mark_unbacked(x, 0)
    program = dynamo_lite.export(doubled, (x,)).module()
    for rows in (1, 3, 4, 7):
        ones = tensor(rows, 5) + 1
        torch.testing.assert_close(program(ones), doubled(ones))
