"""Sizes that only run time knows, through operators: make_fx traces with our environment, and the graph gives what
eager gives for the example's data and for other data.
"""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch._dynamo.source import ConstantSource
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.experimental.symbolic_shapes import DimDynamic, StatelessSymbolicContext
from torch.nn import functional as F
from torch.utils import _pytree as pytree

from dynamo_lite.symbolic_shapes.torch_env.dispatch_cache import fake_mode
from dynamo_lite.symbolic_shapes.torch_env.env import DataDependentError, TorchShapeEnv


def number(x: torch.Tensor, at: int = 0, lo: int = 0, hi: int = 6) -> Any:
    """An element as a size in [lo, hi]."""
    value = x[0, at].long().item()
    torch._check(value >= lo)
    torch._check(value <= hi)
    return value


def rows(x: torch.Tensor) -> torch.Tensor:
    return x[x[:, 0] > 0]


def same_size(x: torch.Tensor) -> torch.Tensor:
    a, b = x[x > 0], x[x > 0.5]
    torch._check(a.shape[0] == b.shape[0])
    return a + b


def divided(x: torch.Tensor) -> torch.Tensor:
    n = number(x, lo=1)
    torch._check(x.numel() % n == 0)
    return x.view(n, -1)


def split(x: torch.Tensor) -> Any:
    a, b = number(x), number(x, 1)
    torch._check(a + b + 19 == x.numel())
    return x.flatten().split([a, b, 19])


PROGRAMS: dict[str, Callable[[torch.Tensor], Any]] = {
    # numbers from data
    "zeros": lambda x: torch.zeros(number(x)), "slice": lambda x: x[: number(x)],
    "narrow": lambda x: x.narrow(0, 0, number(x, hi=3)), "narrow from": lambda x: x.narrow(0, number(x, hi=3), 2),
    "select": lambda x: x.select(0, x[0, 0].long().item()), "view": divided, "split": split,
    "expand": lambda x: x[:1].expand(number(x, lo=2), 4), "repeat": lambda x: x.repeat(number(x, lo=1), 1),
    "scaled by a float": lambda x: x * x[0, 0].item(),
    # sizes from data
    "repeat_interleave": lambda x: x.repeat_interleave(x.long().sum(1).clamp(0, 3), dim=0),
    "cat": lambda x: torch.cat([x.nonzero(), x.nonzero()]),
    "sum": lambda x: x[x > 0].sum(),
    "reshape, expand": lambda x: x[x > 0].reshape(-1, 1).expand(-1, 3), "equal sizes": same_size,
    "matmul": lambda x: rows(x) @ x.t(), "gram": lambda x: rows(x).t() @ rows(x),
    "chunk": lambda x: rows(x).chunk(2, 1),
    "view in three": lambda x: rows(x).view(-1, 2, 2), "flatten": lambda x: rows(x).flatten(),
    "softmax": lambda x: x[x > 0].softmax(0), "sort": lambda x: x[x > 0].sort(),
    "max": lambda x: x[x > 0].max(),
    "layer_norm": lambda x: F.layer_norm(rows(x), (4,)), "linear": lambda x: F.linear(rows(x), x[:2]),
    "conv1d": lambda x: F.conv1d(rows(x).unsqueeze(1), x[:2, :3].unsqueeze(1)),
    "pad": lambda x: F.pad(x[x > 0], (1, 2)),
    "unsqueeze, squeeze": lambda x: x[x > 0].unsqueeze(0).unsqueeze(-1).squeeze(0),
    "transposed and contiguous": lambda x: rows(x).t().contiguous(),
    "channels last": lambda x: rows(x).view(-1, 4, 1, 1).contiguous(memory_format=torch.channels_last),
    "index_put": lambda x: x.clone().index_put((x[:, 0].nonzero().squeeze(1),), torch.zeros(())),
    "masked_scatter": lambda x: x.masked_scatter(x > 0, x), "arange": lambda x: torch.arange(x.nonzero().shape[0]),
    "unique": lambda x: torch.unique(x, return_counts=True), "unique rows": lambda x: torch.unique(x, dim=0),
    "runs in rows": lambda x: torch.unique_consecutive(x, dim=-1), "argwhere": lambda x: torch.argwhere(x),
    "bincount": lambda x: torch.bincount(x.long().flatten().clamp(0)), "where": lambda x: torch.where(x > 0),
    "at most": lambda x: torch.zeros(torch.sym_min(x.nonzero().shape[0], 5)),
    "at least": lambda x: torch.zeros(torch.sym_max(x.nonzero().shape[0], 5)),
    "rounded up": lambda x: torch.zeros((x.nonzero().shape[0] + 7) // 8 * 8).view(-1, 8),
    "interpolate": lambda x: F.interpolate(rows(x).view(1, 1, -1, 4), scale_factor=2),
    "pool": lambda x: F.avg_pool1d(rows(x).unsqueeze(0), 2), "unfold": lambda x: rows(x).unfold(1, 2, 1),
    "tril": lambda x: torch.tril(rows(x)),
    "gather": lambda x: rows(x).gather(1, rows(x).long().clamp(0, 3)),
    "index_select": lambda x: x.index_select(0, x[:, 0].nonzero().squeeze(1)), "flip": lambda x: rows(x).flip(0),
    "first three": lambda x: x[x > 0][:3], "last three": lambda x: x[x > 0][-3:],
    "every other": lambda x: x[x > 0][::2],
    "cumsum": lambda x: x[x > 0].cumsum(0), "topk": lambda x: rows(x).topk(2, 1),
    "bmm": lambda x: torch.bmm(rows(x).unsqueeze(1), rows(x).unsqueeze(2)),
    "outer": lambda x: torch.outer(x[x > 0], x[x > 0]), "einsum": lambda x: torch.einsum("ij,kj->ik", rows(x), x),
    "tile": lambda x: x[x > 0].repeat(2), "meshgrid": lambda x: torch.meshgrid(x[x > 0], x[x > 0], indexing="ij"),
    "var_mean": lambda x: torch.var_mean(x[x > 0]), "norm": lambda x: x[x > 0].norm(),
    "diag": lambda x: torch.diag(x[x > 0]), "unflatten": lambda x: rows(x).unflatten(1, (2, 2)),
    "a mask of a mask": lambda x: (lambda y: y[y > 1])(x[x > 0]),
}  # fmt: skip
UNDECIDED: dict[str, Callable[[torch.Tensor], Any]] = {
    "branch": lambda x: x + 1 if x[0, 0].long().item() == 3 else x - 1,
    "range": lambda x: sum(i * x for i in range(x[0, 0].long().item())),
    "batch_norm of one element": lambda x: F.batch_norm(rows(x), None, None, training=True),
}  # fmt: skip

EXAMPLE = torch.tensor([[2.0, 3, 3, 1], [0, 1, 2, 4], [5, 0, 0, 1], [1, 2, -3, 4], [3, 3, 3, 3], [0, -1, 2, 2]])
OTHER = torch.tensor([[3.0, 2, 1, 1], [1, 1, 2, 4], [5, 0, 0, 1], [0, 2, -3, 4], [3, 1, 3, 3], [2, -1, 2, 2]])


def trace(program: Callable[[torch.Tensor], Any]) -> Any:
    mode = fake_mode(TorchShapeEnv(), allow_non_fake_inputs=True)
    context: Any = StatelessSymbolicContext([DimDynamic.DYNAMIC] * 2)
    fake = mode.from_tensor(EXAMPLE, source=ConstantSource("x"), symbolic_context=context)
    return make_fx(program, tracing_mode="symbolic")(fake)


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_the_graph_gives_is_eagers(name: str) -> None:
    graph = trace(PROGRAMS[name])
    for data in (EXAMPLE, OTHER):
        given, expected = graph(data), PROGRAMS[name](data)
        for g, e in zip(pytree.tree_leaves(given), pytree.tree_leaves(expected), strict=True):
            torch.testing.assert_close(g, e)


@pytest.mark.parametrize("name", UNDECIDED)
def test_what_needs_the_number_says_so(name: str) -> None:
    with pytest.raises(DataDependentError, match="known before the program runs"):
        trace(UNDECIDED[name])
