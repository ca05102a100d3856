"""Caches, attrs classes and containers with registered functions as inputs and outputs, with sizes that vary."""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
import torch
from torch.export import Dim, ExportedProgram
from torch.utils import _pytree as pytree

import dynamo_lite
from dynamo_lite.errors import InputMismatch


def saved(program: ExportedProgram) -> ExportedProgram:
    buffer = io.BytesIO()
    dynamo_lite.save(program, buffer)
    buffer.seek(0)
    return dynamo_lite.load(buffer)


FORMS: dict[str, Callable[[ExportedProgram], Callable[..., Any]]] = {
    "module": lambda p: p.module(),
    "loaded": lambda p: saved(p).module(),
    "decomposed": lambda p: p.run_decompositions().module(),
    "unflattened": lambda p: torch.export.unflatten(p),
}


@dataclasses.dataclass
class Registered:
    a: Any
    b: Any = None


pytree.register_dataclass(Registered, serialized_type_name=f"{__name__}.Registered")


@dataclasses.dataclass(slots=True)
class Slotted:
    a: Any
    b: Any = None


class Tuple(NamedTuple):
    a: Any
    b: Any = None


class Grown:
    """As transformers registers its caches: made by operators, from nothing."""

    def __init__(self, a: Any, b: Any) -> None:
        self.a = torch.cat([torch.tensor([]), a], dim=0)
        self.b = torch.cat([torch.tensor([]), b], dim=0)


pytree.register_pytree_node(
    Grown,
    lambda grown: ([grown.a, grown.b], None),
    lambda children, context: Grown(*children),
    serialized_type_name=f"{__name__}.Grown",
)


torch.serialization.add_safe_globals([Registered, Grown])  # a saved program holds its example inputs


def _of_attrs() -> type:
    return pytest.importorskip("attr").make_class("OfAttrs", ["a", "b"], slots=True)


KINDS: dict[str, Callable[[], type]] = {
    "registered dataclass": lambda: Registered, "dataclass with slots": lambda: Slotted, "named tuple": lambda: Tuple,
    "made by operators": lambda: Grown, "attrs": _of_attrs,
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", KINDS)
def test_a_container_in_and_out_at_other_sizes(kind: str) -> None:
    cls = KINDS[kind]()

    def f(given: Any, x: torch.Tensor) -> Any:
        return cls(given.a * 2 + x.sum(), given.b - 1), (given.a + given.b).sum(0)

    def args(rows: int) -> Any:
        return cls(torch.arange(3.0 * rows), torch.ones(3 * rows)), torch.arange(4.0)

    program = dynamo_lite.export(f, args(2), dynamic_shapes=([{0: Dim.AUTO}, {0: Dim.AUTO}], None))
    forms = FORMS if kind != "attrs" else {name: FORMS[name] for name in FORMS if name != "loaded"}  # a local class
    for form, make in forms.items():
        made = make(program)
        for rows in (2, 3, 7):
            (got, total), (want, sums) = made(*args(rows)), f(*args(rows))
            assert type(got) is cls and torch.equal(total, sums), form
            assert torch.equal(got.a, want.a) and torch.equal(got.b, want.b), form


def _caches() -> dict[str, Callable[[int], Any]]:
    transformers = pytest.importorskip("transformers")
    sizes = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
    config = transformers.LlamaConfig(**sizes, num_key_value_heads=2, vocab_size=20)

    def filled(cache: Any, rows: int, batch: int = 2) -> Any:
        torch.manual_seed(rows)
        for layer in range(2):
            key, value = torch.randn(2, batch, 2, rows, 8)
            cache.update(key, value, layer)
        return cache

    def dynamic(rows: int, batch: int = 2) -> Any:
        return filled(transformers.DynamicCache(config=config), rows, batch)

    return {
        "dynamic": dynamic,
        "static": lambda rows: filled(transformers.StaticCache(config=config, max_cache_len=16), rows),
        "both": lambda rows: transformers.EncoderDecoderCache(dynamic(rows), dynamic(rows + 1)),
    }


def _tensors(value: Any) -> list[torch.Tensor]:
    return [leaf for leaf in pytree.tree_leaves(value) if isinstance(leaf, torch.Tensor)]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["dynamic", "static", "both"])
def test_three_steps_with_a_cache(kind: str) -> None:
    make = _caches()[kind]

    def step(cache: Any, x: torch.Tensor) -> Any:
        target = cache.self_attention_cache if kind == "both" else cache
        keys, values = target.update(x, x + 1, 0)
        target.update(x * 2, x - 1, 1)
        return cache, keys.sum() + values.mean(), cache.get_seq_length()

    row = {2: Dim.DYNAMIC}
    layers = [[[row, row], [row, row]]]
    shapes = {"dynamic": (layers, None), "static": None, "both": ([layers, layers], None)}[kind]
    x = torch.randn(2, 2, 1, 8)
    if kind == "static":  # how much is filled is a number in a tensor, and is not asked for

        def step(cache: Any, x: torch.Tensor) -> Any:
            keys, values = cache.update(x, x + 1, 0)
            return cache, keys.sum() + values.mean(), 0

    program = dynamo_lite.export(step, (make(4), x), dynamic_shapes=shapes)
    for form, build in FORMS.items():
        made, rows = build(program), 4 if kind == "static" else 3
        cache, eager = make(rows), make(rows)
        for step_number in range(3):
            x = torch.randn(2, 2, 1, 8) + step_number
            (cache, got, length), (eager, want, eager_length) = made(cache, x), step(eager, x)
            assert type(cache) is type(eager) and length == eager_length, form
            assert torch.equal(got, want), form
            if form != "unflattened":
                assert all(map(torch.equal, _tensors(cache), _tensors(eager))), form


@pytest.mark.filterwarnings("ignore")
def test_a_number_that_a_cache_keeps_is_a_constant() -> None:
    make = _caches()["static"]
    program = dynamo_lite.export(lambda cache, x: cache.layers[0].keys.sum() * x, (make(4), torch.ones(1)))
    other = make(4)
    other.layers[0].max_cache_len = 12
    with pytest.raises(InputMismatch, match="max_cache_len=16"):
        program.module()(other, torch.ones(1))
