"""Small modules, one feature each: name -> builder of (module, args, kwargs)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils import parametrizations, parametrize

Case = tuple[nn.Module, tuple[Any, ...], dict[str, Any]]
CASES: dict[str, Callable[[], Case]] = {}


class Function(nn.Module):
    """A module whose forward is a function of the inputs alone."""

    def __init__(self, fn: Callable[..., Any]) -> None:
        super().__init__()
        self.fn = fn

    def forward(self, x: torch.Tensor, *others: torch.Tensor) -> Any:
        return self.fn(x, *others)


def case(builder: Callable[[], Any]) -> Callable[[], Any]:
    """Registers a builder of (module, args) or (module, args, kwargs) under its name."""

    def build() -> Case:
        module, args, *rest = builder()
        return module, args, rest[0] if rest else {}

    CASES[builder.__name__] = build
    return builder


def function_case(name: str, fn: Callable[..., Any], *shapes: tuple[int, ...]) -> None:
    CASES[name] = lambda: (Function(fn), tuple(torch.randn(s) for s in shapes or ((3, 4),)), {})


@case
def mlp() -> Any:
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)), (torch.randn(3, 4),)


@case
def conv_bn_eval() -> Any:
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(inplace=True)).eval(), (
        torch.randn(2, 3, 8, 8),
    )


@case
def conv_bn_train() -> Any:
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(inplace=True)), (torch.randn(2, 3, 8, 8),)


@case
def dropout_train() -> Any:
    return nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.0)), (torch.randn(3, 4),)


@case
def lstm() -> Any:
    return nn.LSTM(4, 5, num_layers=2, batch_first=True), (torch.randn(2, 3, 4),)


@case
def gru() -> Any:
    return nn.GRU(4, 5), (torch.randn(3, 2, 4),)


@case
def multihead_attention() -> Any:
    x = torch.randn(2, 5, 8)
    return nn.MultiheadAttention(8, 2, batch_first=True), (x, x.clone(), x.clone())


@case
def transformer_encoder_layer() -> Any:
    return nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, dropout=0.0), (torch.randn(2, 5, 8),)


@case
def transformer_encoder_layer_eval() -> Any:
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
    return layer.requires_grad_(True), (torch.randn(2, 5, 8, requires_grad=True),)


@case
def embedding() -> Any:
    return nn.Embedding(10, 4, padding_idx=0), (torch.randint(0, 10, (2, 3)),)


@case
def embedding_bag() -> Any:
    return nn.EmbeddingBag(10, 4, mode="sum"), (torch.randint(0, 10, (2, 3)),)


@case
def group_and_layer_norm() -> Any:
    return nn.Sequential(nn.GroupNorm(2, 4), nn.LayerNorm(5)), (torch.randn(2, 4, 5),)


@case
def tied_weights() -> Any:
    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Embedding(10, 4)
            self.head = nn.Linear(4, 10, bias=False)
            self.head.weight = self.embed.weight

        def forward(self, ids: torch.Tensor) -> torch.Tensor:
            return self.head(self.embed(ids))

    return Tied(), (torch.randint(0, 10, (2, 3)),)


@case
def buffers() -> Any:
    class Buffers(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("kept", torch.ones(4))
            self.register_buffer("transient", torch.ones(4), persistent=False)
            self.unused = nn.Parameter(torch.ones(2))
            self.constant = torch.full((4,), 2.0)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.kept.add_(x.mean(0))
            return x * self.kept + self.transient - self.constant + torch.tensor([1.0, 2.0, 3.0, 4.0])

    return Buffers(), (torch.randn(3, 4),)


@case
def regions() -> Any:
    class Regions(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(4, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            with torch.no_grad():
                y = x * 2
            with torch.autocast("cpu"):
                z = self.linear(y)
            with torch.no_grad(), torch.enable_grad():
                w = z.float() + x
            return w, y

    return Regions(), (torch.randn(3, 4),)


@case
def no_grad_buffer_update() -> Any:
    class Ema(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("mean", torch.zeros(4))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            with torch.no_grad():
                self.mean.mul_(0.9).add_(x.mean(0), alpha=0.1)
            return x - self.mean

    return Ema(), (torch.randn(3, 4),)


@case
def nested_inputs_and_outputs() -> Any:
    class Nested(nn.Module):
        def forward(self, x: torch.Tensor, d: dict[str, Any], k: int = 3, *, flag: str = "a") -> Any:
            return {"sum": x + d["a"][0], "same": x, "none": None, "k": k, "flag": flag}, [d["b"], (x * k,)]

    args = (torch.randn(3), {"a": [torch.randn(3), None], "b": torch.randn(2)}, 2)
    return Nested(), args, {"flag": "b"}


@case
def mutated_input() -> Any:
    return Function(lambda x: x.mul_(2) + 1), (torch.randn(3, 4),)


@case
def weight_norm() -> Any:
    return parametrizations.weight_norm(nn.Linear(4, 3)), (torch.randn(2, 4),)


@case
def parametrization() -> Any:
    class Symmetric(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.triu() + x.triu(1).T

    linear = nn.Linear(4, 4)
    parametrize.register_parametrization(linear, "weight", Symmetric())
    return linear, (torch.randn(2, 4),)


@case
def parameter_list() -> Any:
    class Lists(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.parts = nn.ParameterList([torch.randn(3) for _ in range(3)])
            self.named = nn.ParameterDict({"a": torch.randn(3)})

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return sum(p * x for p in self.parts) + self.named["a"]

    return Lists(), (torch.randn(3),)


@case
def parameter_as_output() -> Any:
    class Returns(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.randn(3))
            self.constant = torch.ones(2)

        def forward(self, x: torch.Tensor) -> Any:
            y = x + 1
            return self.weight, x, y, y, self.constant

    return Returns(), (torch.randn(3),)


@case
def index_put() -> Any:
    def fn(x: torch.Tensor) -> torch.Tensor:
        y = x.clone()
        y[0] = 1.0
        y[1:, ::2] = x[1:, ::2] * 2
        y[y > 0] = 0.0
        return y

    return Function(fn), (torch.randn(3, 4),)


@case
def index_get() -> Any:
    index = torch.tensor([0, 2])
    return Function(lambda x: (x[index], x[..., None], x[1, 2], x[:, 1:3])), (torch.randn(3, 4),)


function_case("interpolate", lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"), (1, 2, 4, 4))
function_case("pooling", lambda x: (F.max_pool2d(x, 2), F.adaptive_avg_pool2d(x, 1)), (1, 2, 4, 4))
function_case("einsum", lambda x, y: torch.einsum("bij,bjk->bik", x, y), (2, 3, 4), (2, 4, 5))
function_case("sdpa", lambda q: F.scaled_dot_product_attention(q, q, q, is_causal=True), (2, 2, 5, 8))
function_case("scatter", lambda x: torch.zeros(3, 4).scatter_(1, x.argsort(1), x))
function_case("cumsum_topk_sort", lambda x: (x.cumsum(1), x.topk(2), x.sort(1).values, x.max(1).indices))
function_case(
    "split_chunk_unbind", lambda x: (x.split(2, 1)[1], x.chunk(2, 1)[0], x.unbind(0)[2], x.split([1, 3], 1)[1])
)
function_case("where_masked", lambda x: (torch.where(x > 0, x, 0.0), x.masked_fill(x < 0, 1.0), x.clamp(min=0)))
function_case(
    "factories",
    lambda x: x + torch.arange(4) + torch.ones(4) + torch.full((4,), 2.0) + torch.eye(3, 4) + torch.zeros_like(x),
)
function_case("random", lambda x: (torch.rand(3, 4) * 0 + x, torch.randn_like(x) * 0 + torch.bernoulli(x * 0)))
function_case(
    "conversions", lambda x: (x.to(torch.float64).int(), x.half().float(), x.bool(), x.to(x.dtype), x.type_as(x))
)
function_case("complex", lambda x: torch.view_as_real(torch.fft.fft(torch.view_as_complex(x)) * 1j), (3, 2))
function_case(
    "views", lambda x: x.view(4, 3).t().unsqueeze(0).expand(2, 3, 4).reshape(-1).unflatten(0, (6, 4)).flatten()
)
function_case("inplace_chain", lambda x: x.clone().add_(1).mul_(2).relu_().clamp_(max=3).t_())
function_case("stack_cat", lambda x: (torch.stack([x, x]), torch.cat([x, x * 2], 1), torch.hstack((x, x))))
function_case("literals", lambda x: x * torch.tensor(2.0) + torch.tensor([1.0, 2.0, 3.0, 4.0]) + torch.tensor(3).item())
function_case("tensor_methods", lambda x: (x.new_zeros(2), x.new_tensor([1.0]), x.repeat(2, 1), x.roll(1), x.flip(0)))
function_case("reductions", lambda x: (x.mean(), x.std(1), x.norm(), x.softmax(-1), x.logsumexp(0), x.argmax()))
function_case(
    "losses", lambda x, y: (F.mse_loss(x, y), F.cross_entropy(x, y.softmax(1)), F.smooth_l1_loss(x, y)), (3, 4), (3, 4)
)
function_case("pad_conv1d", lambda x: F.conv1d(F.pad(x, (1, 1)), torch.ones(2, 3, 3)), (1, 3, 6))
function_case(
    "matmul_family", lambda x, y: (x @ y, torch.addmm(torch.zeros(3), x, y), torch.outer(x[0], x[1])), (3, 4), (4, 3)
)
function_case("out_variant", lambda x: torch.add(x, 1, out=torch.empty(3, 4)) * 2)
function_case("data_and_detach", lambda x: (x.data + 1, x.detach() * 2))
function_case("meshgrid", lambda x: torch.meshgrid(torch.arange(3), torch.arange(2), indexing="ij")[1] + x[0, 0])
function_case("dead_code", lambda x: (x.sin(), x.cos())[1])
