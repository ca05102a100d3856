"""Tensors that wrap others, as inputs, parameters and buffers. The oracle is eager."""

from __future__ import annotations

import copy
import io
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.export import Dim
from torch.nn import functional as F
from torch.testing._internal.two_tensor import TwoTensor
from torch.utils import _pytree as pytree

import dynamo_lite
from dynamo_lite.capture.fakes.wrapper_subclasses import ACCESS, is_wrapper, leaves
from dynamo_lite.program import InputMismatch, UnsupportedValue
from tests.capture.scaled import Scaled, scaled


class Program(nn.Module):
    """forward is `f(self, ...)`; what else is given becomes a parameter, or a buffer if it takes no gradients."""

    def __init__(self, f: Callable[..., Any], **state: torch.Tensor) -> None:
        super().__init__()
        self.f = f
        for name, tensor in state.items():
            if isinstance(tensor, nn.Parameter):
                self.register_parameter(name, tensor)
            else:
                self.register_buffer(name, tensor)

    def forward(self, *args: Any) -> Any:
        return self.f(self, *args)


def two(*shape: int) -> Any:
    return TwoTensor(torch.randn(*shape), torch.randn(*shape))


def assert_equal(left: Any, right: Any) -> None:
    lefts, rights = pytree.tree_leaves(left), pytree.tree_leaves(right)
    assert len(lefts) == len(rights)
    for one, other in zip(lefts, rights):
        assert type(one) is type(other)
        for a, b in zip(leaves(one), leaves(other), strict=True):
            torch.testing.assert_close(a, b, rtol=0, atol=0)


def assign(m: Any, x: Any) -> Any:
    m.b = m.b + 1
    return x + m.b


PROGRAMS: dict[str, tuple[Callable[[], nn.Module], Callable[[], tuple[Any, ...]]]] = {
    "operators": (
        lambda: Program(lambda m, x: F.linear(x, m.w).relu() + x.sum(), w=torch.randn(3, 4)),
        lambda: (two(2, 4),),
    ),
    "views": (lambda: Program(lambda m, x: x.view(-1)[1:].clone().unsqueeze(0)), lambda: (two(2, 4),)),
    "several results": (lambda: Program(lambda m, x: x.chunk(2)), lambda: (two(4),)),
    "parameter": (lambda: Program(lambda m, x: x * m.p, p=nn.Parameter(two(4))), lambda: (torch.randn(2, 4),)),
    "parameter inside": (
        lambda: Program(lambda m, x: x * m.p.a + m.p.b, p=nn.Parameter(two(4))),
        lambda: (torch.randn(4),),
    ),
    "buffer changed": (lambda: Program(lambda m, x: x + m.b.add_(1), b=two(4)), lambda: (torch.randn(4),)),
    "buffer assigned": (lambda: Program(assign, b=two(4)), lambda: (torch.randn(4),)),
    "input changed": (lambda: Program(lambda m, x: x.mul_(2) + 1), lambda: (two(3),)),
    "attributes": (lambda: Program(lambda m, x: x.a + x.b * 2), lambda: (two(2, 4),)),
    "attribute of a result": (lambda: Program(lambda m, x: (x * 2).a + 1), lambda: (two(2, 4),)),
    "attribute after a change": (lambda: Program(lambda m, x: (x.a + 1, x.mul_(2), x.a + 1)), lambda: (two(2, 4),)),
    "class": (lambda: Program(lambda m, x: x.a if type(x) is TwoTensor else x), lambda: (two(3),)),
    "method": (lambda: Program(lambda m, x: x.get_elem_a() + 1), lambda: (two(3),)),
    "containers": (lambda: Program(lambda m, d: [d["x"][0] + d["x"][1]]), lambda: ({"x": [two(2), torch.randn(2)]},)),
    "returned": (lambda: Program(lambda m, x: (x, x + 1)), lambda: (two(3),)),
    "nested": (lambda: Program(lambda m, x: (x * 2, x.a.a + 1)), lambda: (TwoTensor(two(3), two(3)),)),
    "quantised input": (
        lambda: Program(lambda m, w, x: F.linear(x, w) * w.bits),
        lambda: (scaled(3, 4), torch.randn(2, 4)),
    ),
    "quantised weight": (lambda: Program(lambda m, x: F.linear(x, m.w), w=scaled(3, 4)), lambda: (torch.randn(2, 4),)),
    "its own method": (
        lambda: Program(lambda m, x: x @ m.w.dequantize() + m.w.scale.sum(), w=scaled(4, 4)),
        lambda: (torch.randn(4),),
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_program_equals_eager(name: str) -> None:
    make, inputs = PROGRAMS[name]
    module, args = make(), inputs()
    eager, again = copy.deepcopy(module), copy.deepcopy(args)
    program = dynamo_lite.export(copy.deepcopy(module), args)
    saved = io.BytesIO()
    torch.export.save(program, saved)
    assert_equal(program.module()(*args), eager(*again))
    assert_equal(args, again)
    loaded = torch.export.load(io.BytesIO(saved.getvalue()))
    args = inputs()
    again = copy.deepcopy(args)
    assert_equal(loaded.module()(*args), copy.deepcopy(module)(*again))


def quantised(x: torch.Tensor) -> Scaled:
    scale = x.abs().amax(1, keepdim=True) / 127
    return Scaled((x / scale).to(torch.int8), scale, 8)


def pair(x: torch.Tensor) -> Any:
    return TwoTensor(x, x + 1)


MADE: dict[str, Callable[..., Any]] = {
    "used": lambda m, x: F.linear(x, quantised(x)),
    "read": lambda m, x: (pair(x) * 2).a + pair(x).b,
    "with a parameter": lambda m, x: F.linear(quantised(x), m.w).sum(),
    "its own method": lambda m, x: quantised(x).dequantize() * quantised(x).bits,
    "changed": lambda m, x: (pair(x.clone()).mul_(3).a, x),
    "within a region": torch.no_grad()(lambda m, x: (pair(x) * 2).b),
    "of one made": lambda m, x: (TwoTensor(pair(x), pair(x * 2)) + 1).a.b,
}


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
def test_a_wrapper_made_by_the_program(name: str, dynamic: bool) -> None:
    module = Program(MADE[name], w=nn.Parameter(torch.randn(5, 4)))
    shapes = {"args": ({0: Dim("rows", min=2, max=64)},)} if dynamic else None
    program = dynamo_lite.export(module, (torch.randn(3, 4),), dynamic_shapes=shapes)
    decomposed = program.run_decompositions()
    assert not any(is_wrapper(node.meta.get("val")) for node in decomposed.graph.nodes)
    saved = io.BytesIO()
    torch.export.save(decomposed, saved)
    loaded = torch.export.load(io.BytesIO(saved.getvalue()))
    x = torch.randn(6 if dynamic else 3, 4)
    for run in (program.module(), copy.deepcopy(program).module(), decomposed.module(), loaded.module()):
        assert_equal(run(x), module(x))


def test_a_wrapper_made_by_the_program_may_be_returned() -> None:
    module = Program(lambda m, x: {"made": pair(x), "then": quantised(x)})
    program, x = dynamo_lite.export(module, (torch.randn(3, 4),)), torch.randn(3, 4)
    assert_equal(program.module()(x), module(x))


def test_a_wrapper_made_of_parameters_follows_them() -> None:
    class Unwrapped(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.codes = nn.Parameter(torch.randint(-9, 9, (3, 4), dtype=torch.int8), requires_grad=False)
            self.scale = nn.Parameter(torch.rand(3, 1), requires_grad=False)
            self.kept = [Scaled(self.codes, self.scale, 8)]

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            weight = Scaled(self.codes, self.scale, 8)
            return F.linear(x, weight) + F.linear(x, self.kept[0]) * weight.scale.sum() + F.linear(x, weight)

    x, module, other = torch.randn(2, 4), Unwrapped(), Unwrapped()
    program = dynamo_lite.export(module, (x,))
    assert set(program.state_dict) == {"codes", "scale"} and not program.constants
    for run in (program.module(), program.run_decompositions().module()):
        assert_equal(run(x), module(x))
        run.load_state_dict(other.state_dict())
        assert_equal(run(x), other(x))
        run.load_state_dict(copy.deepcopy(module).state_dict())


def test_one_that_sets_requires_grad_is_refused() -> None:
    with pytest.raises(dynamo_lite.errors.DynamoLiteError, match="tensor-subclass"):
        dynamo_lite.export(Program(lambda m, x: TwoTensor(x, x, requires_grad=True) * 2), (torch.randn(3),))


def test_attributes_of_an_input_are_not_written() -> None:
    def rename(m: Any, x: Any) -> Any:
        x.scale = x.scale * 2
        return x.dequantize()

    with pytest.raises(dynamo_lite.errors.DynamoLiteError, match="tensor-attribute"):
        dynamo_lite.export(Program(rename), (scaled(3, 4),))


def test_a_wrapper_is_one_value_of_the_graph() -> None:
    program = dynamo_lite.export(Program(lambda m, x: (x * 2).relu()), (two(3),))
    assert [node.target for node in program.graph.nodes if node.op == "call_function"] == [
        torch.ops.aten.mul.Tensor,
        torch.ops.aten.relu.default,
    ]
    assert all(is_wrapper(node.meta["val"]) for node in program.graph.nodes if node.op != "output")


def test_an_attribute_is_read_in_the_program() -> None:
    program = dynamo_lite.export(Program(lambda m, x: x.a + x.b), (two(3),))
    assert [node.args[1] for node in program.graph.nodes if node.target is ACCESS] == ["a", "b"]


def test_state_is_taken_apart_by_run_decompositions() -> None:
    module, x = Program(lambda m, x: F.linear(x, m.w), w=scaled(3, 4)), torch.randn(2, 4)
    decomposed = dynamo_lite.export(module, (x,)).run_decompositions()
    assert not any(is_wrapper(node.meta.get("val")) for node in decomposed.graph.nodes)
    assert_equal(decomposed.module()(x), module(x))


def test_inputs_are_not_taken_apart() -> None:
    program = dynamo_lite.export(Program(lambda m, x: x + 1), (two(3),))
    with pytest.raises(UnsupportedValue, match="args_0: a tensor that wraps others"):
        program.run_decompositions()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda w: Scaled(w.codes, w.scale, 4), "keeps {'bits': 8}"),
        (lambda w: w.dequantize(), "class Scaled, not Tensor"),
        (lambda w: Scaled(w.codes.to(torch.int16), w.scale, 8), "dtype torch.int8, not torch.int16"),
        (lambda w: Scaled(w.codes, w.scale[:1], 8), r"shape \[3, 1\], not \[1, 1\]"),
    ],
)
def test_a_call_with_another_wrapper_is_refused(change: Callable[[Scaled], Any], message: str) -> None:
    weight, x = scaled(3, 4), torch.randn(2, 4)
    program = dynamo_lite.export(Program(lambda m, w, x: F.linear(x, w) * w.bits), (weight, x))
    with pytest.raises(InputMismatch, match=message):
        program.module()(change(weight), x)
    saved = io.BytesIO()
    torch.export.save(program, saved)
    with pytest.raises(AssertionError, match="Guard failed"):
        torch.export.load(io.BytesIO(saved.getvalue())).module()(change(weight), x)


def test_sizes_may_vary_where_a_tensor_inside_has_them() -> None:
    module = Program(lambda m, x: (x * 2).reshape(-1) + x.shape[0])
    program = dynamo_lite.export(module, (two(3, 4),), dynamic_shapes={"args": ({0: Dim("rows")},)})
    for rows in (2, 3, 7):
        x = two(rows, 4)
        assert_equal(program.module()(x), module(x))
    uneven = two(5, 4)
    uneven.a, uneven.b = torch.randn(2, 4), torch.randn(2, 4)
    with pytest.raises(InputMismatch, match="whose a is a tensor"):
        program.module()(uneven)


def test_sizes_that_no_tensor_inside_has_are_refused() -> None:
    class Rows(Scaled):
        @staticmethod
        def __new__(cls, codes: torch.Tensor, scale: torch.Tensor, bits: int) -> Any:
            made: Any = torch.Tensor
            return made._make_wrapper_subclass(cls, codes.shape[1:], dtype=scale.dtype)

    rows: Any = Rows(torch.zeros(1, 3, 4, dtype=torch.int8), torch.rand(1, 1), 8)
    with pytest.raises(dynamo_lite.errors.DynamoLiteError, match="give it constant sizes"):
        dynamo_lite.export(lambda x: x + 1, (rows,), dynamic_shapes={"x": {0: Dim("n")}})


def test_what_depends_on_data_is_refused() -> None:
    with pytest.raises(dynamo_lite.errors.DynamoLiteError, match="data-dependent-branch"):
        dynamo_lite.export(Program(lambda m, x: x + 1 if x.sum() > 0 else x), (two(3),), control_flow="refuse")
