"""The rules for symbolic sizes say what torch's own kernels say for constant ones: sizes, strides, dtype, gradients.

Each program is exported twice, with constant and with varying sizes. Node by node, the metadata of the second, at the
example's sizes, is that of the first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.export import Dim, ExportedProgram

import dynamo_lite
from dynamo_lite.capture.kernels import composites
from dynamo_lite.symbolic_shapes.torch_env import shared_history
from tests.models.dynamic import batch_axis, dynamic_shapes, length_axis
from tests.models.registry import CORE, load

WHOLE = (torch.ops.aten.slice.Tensor, torch.ops.aten.alias.default)


def tensors(program: ExportedProgram) -> list[tuple[str, Any]]:
    """(operator, what its result looks like in the example), for each node with a tensor or several."""
    found = []
    for node in program.graph.nodes:
        values = node.meta.get("val")
        several = values if isinstance(values, (tuple, list)) else [values]
        looks = [look(v) for v in several if isinstance(v, Tensor)]
        # Slices that take everything are not operators where the size is known to be everything.
        if node.op == "call_function" and looks and "getitem" not in node.name and node.target not in WHOLE:
            found.append((str(node.target), looks))
    return found


def look(value: Tensor) -> Any:
    """Sizes, strides (but those of dimensions of size 1, which mean nothing), dtype, requires_grad."""
    sizes = [hint(size) for size in value.shape]
    strides = [hint(stride) for size, stride in zip(sizes, value.stride()) if size != 1]
    return sizes, strides, value.dtype, value.requires_grad


def hint(size: Any) -> int:
    return size if isinstance(size, int) else int(size.node.hint)


def compare(module: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], shapes: Any) -> None:
    static = tensors(dynamo_lite.export(module, args, kwargs))
    dynamic = tensors(dynamo_lite.export(module, args, kwargs, dynamic_shapes=shapes))
    assert [name for name, _ in static] == [name for name, _ in dynamic]
    for (name, constant), (_, varying) in zip(static, dynamic):
        assert varying == constant, name


Q = torch.randn(2, 4, 5, 8)
X = torch.randn(3, 5, 8)
PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Tensor, ...]]] = {
    "linear": (lambda x, w, b: F.linear(x, w, b), (X, torch.randn(7, 8), torch.randn(7))),
    "linear of a transposed input": (lambda x, w: F.linear(x.transpose(0, 1), w), (X, torch.randn(7, 8))),
    "linear of a matrix": (lambda x, w: F.linear(x.t(), w), (torch.randn(8, 3), torch.randn(7, 8))),
    "linear with gradients": (lambda x, w: F.linear(x, w) * 2, (X, torch.randn(7, 8, requires_grad=True))),
    "matmul of batches": (lambda a, b: a @ b, (X, torch.randn(3, 8, 6))),
    "matmul with a matrix": (lambda a, b: a @ b, (X, torch.randn(8, 6))),
    "matmul that broadcasts": (lambda a, b: a @ b, (torch.randn(1, 4, 5, 8), torch.randn(3, 1, 8, 6))),
    "matmul of transposed batches": (lambda a, b: a @ b.transpose(1, 2), (X, torch.randn(3, 6, 8))),
    "matmul of a matrix and a batch": (lambda a, b: a @ b, (torch.randn(6, 5), X)),
    "attention": (lambda q: F.scaled_dot_product_attention(q, q + 1, q), (Q,)),
    "attention with a mask": (lambda q, m: F.scaled_dot_product_attention(q, q, q, m), (Q, torch.randn(2, 1, 5, 5))),
    "causal attention of a transposed input": (
        lambda q: F.scaled_dot_product_attention(*[q.transpose(1, 2)] * 3, is_causal=True), (Q,)),
    "layer norm": (lambda x: F.layer_norm(x, (8,)), (X,)),
    "layer norm of a transposed input": (lambda x: F.layer_norm(x.transpose(0, 1), (8,)), (X,)),
    "pointwise": (lambda x, y: F.gelu(x + y) * 2 - (x > 0), (X, torch.randn(8))),
    "pointwise of other dtypes": (
        lambda x, y: (x * y, y / 2, y == 3, torch.where(x > 0, x, 1.0)), (X, torch.arange(8))),
    "pointwise of a 0-d tensor": (lambda x, s: x * s + s, (X, torch.tensor(2.0, dtype=torch.float64))),
    "pointwise of transposed tensors": (lambda x: (x.transpose(0, 1) + 1, x.transpose(0, 1) * x.transpose(0, 1)), (X,)),
    "pointwise that expands": (lambda x, y: x + y, (torch.randn(3, 1, 8), torch.randn(5, 1))),
    "take along a dimension": (lambda x: x.take_along_dim(x.argsort(1), dim=1), (X,)),
    "take along a dimension, broadcast": (
        lambda x, i: torch.take_along_dim(x, i, -2), (torch.randn(3, 5, 1), torch.randint(5, (1, 4, 8)))),
    "take along a dimension with gradients": (
        lambda x, i: (x * 2).take_along_dim(i, 0), (torch.randn(3, 5, requires_grad=True), torch.randint(3, (7, 1)))),
    "Kronecker product": (lambda x, y: torch.kron(x, y), (torch.randn(3, 5), torch.randn(2, 4))),
    "Kronecker product of other ranks and dtypes": (
        lambda x, y: (torch.kron(x, y), torch.kron(y, x)), (torch.randn(3, 5, 2), torch.arange(4))),
    "Kronecker product with gradients": (
        lambda x, y: torch.kron(x, y) * 2, (torch.randn(3, 5), torch.randn(2, 4, requires_grad=True))),
    "convolution": (
        lambda x, w, b: F.conv2d(x, w, b, 2, 1), (torch.randn(2, 3, 9, 7), torch.randn(4, 3, 3, 3), torch.ones(4))),
    "dilated convolution in groups": (
        lambda x, w: F.conv1d(x, w, dilation=2, groups=2), (torch.randn(2, 4, 9), torch.randn(6, 2, 3))),
    "convolution of channels last": (
        lambda x, w: F.conv2d(x.contiguous(memory_format=torch.channels_last), w),
        (torch.randn(2, 3, 9, 7), torch.randn(4, 3, 3, 3))),
    "convolution of permuted inputs": (
        lambda x, w, v: (F.conv2d(x.permute(0, 3, 1, 2), w, padding=1), F.conv1d(x[0].transpose(1, 2), v)),
        (torch.randn(2, 9, 7, 3), torch.randn(4, 3, 3, 3), torch.randn(4, 3, 1))),
    "convolution of a pixel": (
        lambda x, w: F.conv2d(x.contiguous(memory_format=torch.channels_last), w),
        (torch.randn(2, 3, 1, 1), torch.randn(4, 3, 1, 1))),
    "reshape": (
        lambda x: (x.reshape(-1, 8), x.reshape(x.shape[0], -1), x.transpose(0, 1).reshape(-1), x.flatten(1)), (X,)),
    "view": (lambda x: (x.view(-1, 2, 4), x.view(x.shape[0] * 5, 8), x.view(3, 5, 8)), (X,)),
    "view of slices": (lambda x: (x[:, 1:].transpose(0, 1).unsqueeze(1), x[..., :4].unflatten(-1, (2, 2))), (X,)),
    "view into parts": (lambda x: x.transpose(0, 1).view(5, 3, 2, 4).permute(2, 0, 3, 1), (X,)),
    "expand": (
        lambda x, y: (y.expand(x.shape[0], -1, 8), y.expand(2, -1, -1), x[:, :1].expand(-1, 6, -1)),
        (X, torch.randn(5, 1))),
    "unsqueeze": (lambda x: (x.unsqueeze(0), x.unsqueeze(1), x.unsqueeze(-1), x.transpose(0, 2).unsqueeze(1)), (X,)),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_rules_are_as_torchs_kernels(name: str) -> None:
    program, args = PROGRAMS[name]
    compare(program, args, {}, tuple(dict.fromkeys(range(arg.dim()), Dim.AUTO) for arg in args))


class Recurrent(nn.Module):
    def __init__(self, kind: type[nn.RNNBase], **options: Any) -> None:
        super().__init__()
        self.layer = kind(8, 6, **options)

    def forward(self, x: Tensor) -> Any:
        return self.layer(x)


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
@pytest.mark.parametrize(
    "options",
    [{}, {"batch_first": True}, {"bidirectional": True, "num_layers": 2}, {"bias": False, "batch_first": True}],
    ids=str,
)
def test_recurrent_layers(kind: type[nn.RNNBase], options: dict[str, Any]) -> None:
    compare(Recurrent(kind, **options), (X,), {}, ({0: Dim.AUTO, 1: Dim.AUTO},))


def test_projected_lstm() -> None:
    compare(Recurrent(nn.LSTM, proj_size=4), (X,), {}, ({0: Dim.AUTO, 1: Dim.AUTO},))


@pytest.mark.parametrize("name", ["gpt_12", "bert", "t5", "vit", "wav2vec2", "convnext", "deberta_v2"])
def test_models(name: str) -> None:
    case = load(CORE)[name].case()
    axes = [axis for axis in (batch_axis(case), length_axis(case)) if axis is not None]
    args, kwargs = case.inputs(0)
    compare(case.module, args, kwargs, dynamic_shapes(case, *axes))


def test_no_backend_limits_the_batch() -> None:
    # On one thread, a convolution of channels-last memory asks whether the batch is below 16 (NNPACK).
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        layer = nn.Conv2d(8, 16, 1)
        x = torch.randn(2, 32, 32, 8).permute(0, 3, 1, 2)
        program = dynamo_lite.export(layer, (x,), dynamic_shapes=({0: Dim("batch", max=64)},))
        y = torch.randn(40, 32, 32, 8).permute(0, 3, 1, 2)
        torch.testing.assert_close(program.module()(y), layer(y))
    finally:
        torch.set_num_threads(threads)


@pytest.mark.parametrize(
    ("norm", "sizes"),
    [(nn.BatchNorm1d(4), ()), (nn.BatchNorm1d(4), (5,)), (nn.BatchNorm2d(4).eval(), (5, 2)),
     (nn.BatchNorm3d(4).requires_grad_(False), (5, 2, 3))])  # fmt: skip
def test_batch_norm_demands_what_torch_does(
    norm: nn.Module, sizes: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    x, seen = torch.randn(3, 4, *sizes), []
    for _ in range(2):
        shared_history.forget()
        trace = dynamo_lite.trace(norm, (x,), dynamic_shapes=({0: Dim.AUTO},))
        program = trace.program
        demanded = [*map(str, trace.solution.guard_set.facts)]
        seen.append((tensors(program), str(program.graph), demanded))
        monkeypatch.delitem(composites.RULES, torch.ops.aten.batch_norm.default, raising=False)
    assert seen[0] == seen[1]
    assert seen[0][2] and any(name == "aten.batch_norm.default" for name, _ in seen[0][0])


class _Split(nn.Module):
    """A result that is remembered is changed in place after another one was split."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.BatchNorm2d(4) for _ in range(3))

    def forward(self, x: Tensor) -> Tensor:
        first, second, third = (layer(x) for layer in self.layers)
        left, right = torch.split(second, 2, 1)
        first.relu_()
        third.relu_()
        return first.sum() + third.sum() + (left * right).sum()


def test_results_that_are_remembered_have_versions_of_their_own() -> None:
    module, x = _Split().eval(), torch.randn(2, 4, 8, 8)
    program = dynamo_lite.export(module, (x,), dynamic_shapes=({0: Dim("batch")},))
    torch.testing.assert_close(program.module()(x), module(x))


class _Padded(nn.Module):
    def __init__(self, **given: Any) -> None:
        super().__init__()
        self.given = given

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return nn.utils.rnn.pad_sequence([x, y], **self.given) + 1


@pytest.mark.parametrize("given", [{}, {"batch_first": True, "padding_value": 2.0}, {"padding_side": "left"}])
@pytest.mark.parametrize("requires_grad", [False, True])
def test_the_longest_sequence_may_be_another_one(given: dict[str, Any], requires_grad: bool) -> None:
    module = _Padded(**given)
    shapes = {"x": {0: Dim("long")}, "y": {0: Dim("short")}}
    example = (torch.randn(5, 2, requires_grad=requires_grad), torch.randn(4, 2))
    constant = tensors(dynamo_lite.export(module, example))
    program = dynamo_lite.export(module, example, dynamic_shapes=shapes)
    assert tensors(program) == constant
    for first, second in ((2, 3), (1, 1), (7, 6)):
        x, y = torch.randn(first, 2), torch.randn(second, 2)
        torch.testing.assert_close(program.module()(x, y), module(x, y))


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_taking_along_a_dimension_fixes_no_size(dim: int) -> None:
    """torch's kernel takes the sizes for numbers, so torch.export makes constants of them."""

    def taken(x: Tensor, indices: Tensor) -> Tensor:
        return x.take_along_dim(indices, dim)

    sizes = {0: Dim.DYNAMIC, 1: Dim.DYNAMIC}
    args = torch.randn(4, 6), torch.randint(4, (4, 6))
    module = dynamo_lite.export(taken, args, dynamic_shapes=(sizes, sizes)).module()
    for rows, columns in ((4, 6), (7, 3), (2, 9)):
        x = torch.randn(rows, columns)
        others = torch.randint(x.shape[dim], (rows, columns))
        torch.testing.assert_close(module(x, others), taken(x, others))
    for wrong in (torch.randint(3, (4,)), torch.zeros(4, 6, dtype=torch.int32)):
        with pytest.raises(RuntimeError):
            taken(args[0], wrong)
        with pytest.raises(RuntimeError):
            dynamo_lite.export(taken, (args[0], wrong), dynamic_shapes=(sizes, None))


def test_a_kronecker_product_fixes_no_size() -> None:
    sizes = {0: Dim.DYNAMIC, 1: Dim.DYNAMIC}
    args = torch.randn(3, 5), torch.randn(2, 4)
    module = dynamo_lite.export(lambda x, y: torch.kron(x, y), args, dynamic_shapes=(sizes, sizes)).module()
    for shapes in (((3, 5), (2, 4)), ((2, 7), (5, 3)), ((4, 2), (3, 6))):
        others = [torch.randn(shape) for shape in shapes]
        torch.testing.assert_close(module(*others), torch.kron(*others))


def test_a_kronecker_product_that_eager_refuses() -> None:
    """torch's kernel takes a view, which a transposed operand has none of."""

    def product(x: Tensor, y: Tensor) -> Tensor:
        return torch.kron(x.t(), y)

    args = torch.randn(3, 5), torch.randn(2, 4)
    with pytest.raises(RuntimeError, match="view size is not compatible"):
        product(*args)
    with pytest.raises(RuntimeError, match="view size is not compatible"):
        dynamo_lite.export(product, args, dynamic_shapes=({0: Dim.AUTO}, {1: Dim.AUTO}))


BATCH = {0: Dim("batch", min=2)}
WEIGHT, KERNEL = torch.randn(3, 4), torch.randn(3, 4, 2)
WRONG: dict[str, tuple[Callable[..., Any], tuple[int, ...]]] = {
    "linear, a bias of another width": (lambda x: F.linear(x, WEIGHT, torch.ones(5)), (5, 4)),
    "convolution, a bias of another width": (lambda x: F.conv1d(x, KERNEL, torch.ones(4)), (5, 4, 7)),
    "convolution, a bias of one element": (lambda x: F.conv1d(x, KERNEL, torch.ones(1)), (5, 4, 7)),
    "convolution, a bias that is a matrix": (lambda x: F.conv1d(x, KERNEL, torch.ones(1, 3)), (5, 4, 7)),
    "convolution, channels that are in no groups": (
        lambda x: F.conv1d(x, torch.ones(3, 2, 2), None, 1, 0, 1, 2),
        (5, 4, 7),
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_eager_refuses_is_refused_for_a_batch_of_any_size(name: str) -> None:
    fn, sizes = WRONG[name]
    x = torch.randn(sizes)
    with pytest.raises(RuntimeError) as ours:
        dynamo_lite.export(fn, (x,), dynamic_shapes=(BATCH,))
    with pytest.raises(RuntimeError) as eagers:
        fn(x)
    assert str(ours.value).partition("\n")[0] == str(eagers.value).partition("\n")[0]


@pytest.mark.parametrize("bias", [(1,), (), (1, 3), (3,)])
def test_a_bias_that_is_expanded_fixes_no_batch(bias: tuple[int, ...]) -> None:
    fn, given = (lambda x: F.linear(x, WEIGHT, given)), torch.randn(bias)
    program = dynamo_lite.export(fn, (torch.randn(5, 4),), dynamic_shapes=(BATCH,)).module()
    for batch in (2, 5, 9):
        x = torch.randn(batch, 4)
        torch.testing.assert_close(program(x), fn(x))


def test_channels_in_groups_fix_no_multiple() -> None:
    def fn(x: Tensor, weight: Tensor) -> Tensor:
        return F.conv1d(x, weight, None, 1, 0, 1, 2)

    shapes = (BATCH, {0: 2 * Dim("half", min=1)})
    program = dynamo_lite.export(fn, (torch.randn(5, 4, 7), torch.randn(4, 2, 2)), dynamic_shapes=shapes).module()
    call = torch.randn(3, 4, 7), torch.randn(6, 2, 2)
    torch.testing.assert_close(program(*call), fn(*call))
