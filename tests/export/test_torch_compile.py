"""torch.compile of `program.module()`, with `fullgraph=True`: containers, keyword arguments, checks of the inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim

import dynamo_lite

X = torch.randn(3, 4)
ROWS = Dim("rows", min=2, max=9)


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


@dataclass
class Box:
    value: Tensor
    name: str
    sizes: tuple[int, ...] = (1, 2)


class Pair(NamedTuple):
    left: Tensor
    right: Tensor


class Cache:
    """State in attributes, slots of a base class, and a list."""

    def __init__(self) -> None:
        self.layers: list[Box] = []
        self.kept = {"seen": 0}


class Rows(list):
    label = "rows"


class Table(dict):
    pass


class Three(tuple):
    pass


def boxed(box: Box, *, scale: dict[str, Tensor]) -> Box:
    return Box(box.value * scale["by"], box.name, (3, 4))


def paired(pair: Pair) -> dict[str, Any]:
    return {"out": Pair(pair.right, pair.left + 1), "n": pair.left.shape[0]}


def cached(x: Tensor, cache: Cache) -> tuple[Tensor, Cache]:
    cache.layers.append(Box(x, "new"))
    total = x
    for layer in cache.layers:
        total = total + layer.value
    return total, cache


def listed(rows: Rows) -> Rows:
    return Rows(row * 2 for row in rows)


def tabled(table: Table) -> Table:
    return Table(total=table["a"] + table["b"], name="t")


def three(rows: Three) -> Table:
    return Table(first=rows[0] + rows[2])


def cache_of(rows: int) -> Cache:
    made = Cache()
    made.layers.append(Box(torch.ones(rows, 4), "old"))
    return made


CALLS: dict[str, tuple[Callable[..., Any], Callable[[int], tuple[tuple[Any, ...], dict[str, Any]]]]] = {
    "dataclass": (boxed, lambda n: ((Box(torch.ones(n, 4), "a"),), {"scale": {"by": torch.ones(4) * 2}})),
    "namedtuple": (paired, lambda n: ((Pair(torch.ones(n, 4), torch.zeros(n, 4)),), {})),
    "object": (cached, lambda n: ((torch.ones(n, 4), cache_of(n)), {})),
    "dict": (tabled, lambda n: ((Table(a=torch.ones(n, 4), b=torch.ones(n, 4), c=3),), {})),
    "tuple": (three, lambda n: ((Three([torch.ones(n, 4), 2, torch.ones(n, 4)]),), {})),
    "list": (listed, lambda n: ((Rows([torch.ones(n, 4), torch.ones(n, 4)]),), {})),
}
SHAPES: dict[str, Any] = {
    "dataclass": {"box": [{0: ROWS}], "scale": {"by": None}},
    "namedtuple": {"pair": [{0: ROWS}, {0: ROWS}]},
    "object": {"x": {0: ROWS}, "cache": None},
    "dict": {"table": [{0: ROWS}, {0: ROWS}]},
    "tuple": {"rows": [{0: ROWS}, {0: ROWS}]},
    "list": {"rows": [{0: ROWS}, {0: ROWS}]},
}


def leaves(value: Any) -> list[Any]:
    return torch.utils._pytree.tree_leaves(value)


def same(got: Any, want: Any) -> bool:
    pairs = list(zip(leaves(got), leaves(want), strict=True))
    return type(got) is type(want) and all(torch.equal(a, b) if isinstance(a, Tensor) else a == b for a, b in pairs)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("dynamic", [False, True])
def test_containers(name: str, dynamic: bool, backend: str) -> None:
    fn, call = CALLS[name]
    args, kwargs = call(3)
    dynamic = dynamic and name != "object"
    program = dynamo_lite.export(fn, args, kwargs, dynamic_shapes=SHAPES[name] if dynamic else None)
    compiled = torch.compile(program.module(), backend=backend, fullgraph=True)
    for rows in (3, 5, 8) if dynamic else (3, 3):
        args, kwargs = call(rows)
        want = fn(*call(rows)[0], **kwargs)
        assert same(compiled(*args, **kwargs), want)


def test_a_cache_of_transformers() -> None:
    hf = pytest.importorskip("transformers")
    from tests.models.tiny import tiny_config

    torch.manual_seed(0)
    model = hf.LlamaForCausalLM(tiny_config(hf.LlamaConfig)).eval()
    prompt, token = torch.randint(4, 90, (2, 5)), torch.randint(4, 90, (2, 1))

    class Step(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, token: Tensor, cache: Any) -> Any:
            out = self.model(token, past_key_values=cache, use_cache=True)
            return out.logits, out.past_key_values

    def cache() -> Any:
        return model(prompt, use_cache=True).past_key_values

    with torch.no_grad():
        compiled = torch.compile(
            dynamo_lite.export(Step(), (token, cache())).module(), backend="aot_eager", fullgraph=True
        )
        logits, after = compiled(token, cache())
        want, eager = Step()(token, cache())
    assert torch.allclose(logits, want, atol=1e-5) and type(after) is type(eager)
    assert torch.allclose(after.layers[1].keys, eager.layers[1].keys, atol=1e-5)


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("fullgraph", [False, True])
def test_what_a_call_is_checked_for(fullgraph: bool, dynamic: bool) -> None:
    """The messages are those of the module that is not compiled. With fullgraph=True what fx does with an exception is
    an error of TorchDynamo's ("Attempt to trace generator"), of which ours is the context."""
    layer = nn.Linear(4, 4)
    program = dynamo_lite.export(layer, (X,), dynamic_shapes=({0: ROWS},) if dynamic else None)
    compiled = torch.compile(program.module(), backend="eager", fullgraph=fullgraph)
    assert torch.equal(compiled(X), layer(X))
    for call in ((torch.randn(3, 5),), (X.double(),), (torch.randn(12, 4),), (X, X)):
        with pytest.raises(Exception) as raised:
            compiled(*call)
        error = raised.value.__context__ if fullgraph else raised.value
        assert isinstance(error, dynamo_lite.StructureMismatch if len(call) > 1 else dynamo_lite.InputMismatch)


def test_a_module_within_what_is_compiled() -> None:
    layer = nn.Linear(4, 4)
    module = dynamo_lite.export(layer, (X,), dynamic_shapes=({0: ROWS},)).module()

    @torch.compile(backend="eager", fullgraph=True)
    def around(x: Tensor) -> Tensor:
        return module(x * 2) + 1

    for rows in (3, 5, 7):
        x = torch.randn(rows, 4)
        assert torch.allclose(around(x), layer(x * 2) + 1)


def test_the_other_mode_is_compiled_again() -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4))
    module = dynamo_lite.export(model.train(), (X,)).module()
    compiled = torch.compile(module, backend="eager", fullgraph=True)
    twin = torch.export.export(model.train(), (X,)).module()
    compiled(X), twin(X)
    for mode in (False, True, False):
        module.train(mode)
        want = (X @ model[0].weight.T + model[0].bias - model[1].running_mean) / (model[1].running_var + 1e-5).sqrt()
        got = compiled(X)
        assert torch.allclose(got, want, atol=1e-5) is not mode
