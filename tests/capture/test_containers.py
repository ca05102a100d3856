"""Objects that hold tensors, as inputs and outputs, without anybody having registered them."""

from __future__ import annotations

import copy
import threading
from collections import OrderedDict, UserDict, namedtuple
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils import _pytree as pytree

from dynamo_lite.program import InputMismatch, UnsupportedValue, flatten_inputs, register_container
from dynamo_lite.program.trees.container_context import decode, encode
from tests.capture.modules import Function
from tests.capture.native import export_natively

Pair = namedtuple("Pair", ["left", "right"])


class Mode(Enum):
    FAST = 1
    SLOW = 2


@dataclass(frozen=True)
class Point:
    x: torch.Tensor
    label: str = "p"
    tags: tuple[str, ...] = ()


class Layer:
    def __init__(self) -> None:
        self.keys: torch.Tensor | None = None
        self.dtype = torch.float32

    def update(self, x: torch.Tensor) -> None:
        self.keys = x if self.keys is None else torch.cat([self.keys, x])


class Cache:
    def __init__(self, mode: Mode = Mode.FAST) -> None:
        self.layers = [Layer(), Layer()]
        self.mode = mode
        self.seen: dict[int, bool] = {}


class Slotted:
    __slots__ = ("__hidden", "value")

    def __init__(self, value: torch.Tensor) -> None:
        self.value = value
        self.__hidden = 3

    def hidden(self) -> int:
        return self.__hidden


class Named(dict):  # type: ignore[type-arg]
    extra: int = 0


class Bag(OrderedDict):  # type: ignore[type-arg]
    pass


class Many(list):  # type: ignore[type-arg]
    pass


@dataclass
class Nested:
    point: Point
    items: list[Point] = field(default_factory=list)


def roundtrip(value: Any) -> Any:
    module = Function(lambda x: (x, value(x)))
    x = torch.ones(2)
    program = export_natively(module, (x,))
    return program.module()(x)[1]


def test_dataclasses() -> None:
    out = roundtrip(lambda x: Nested(Point(x + 1, "a", ("t",)), [Point(x), Point(x * 2)]))
    assert isinstance(out, Nested) and out.point.label == "a" and out.point.tags == ("t",)
    assert out.point.x.tolist() == [2, 2] and out.items[1].x.tolist() == [2, 2]


def test_a_cache_comes_out_and_goes_in_again() -> None:
    def step(x: torch.Tensor, cache: Cache) -> Any:
        for layer in cache.layers:
            layer.update(x)
        return cache

    x = torch.ones(2)
    first = export_natively(Function(lambda x: step(x, Cache())), (x,)).module()(x)
    assert type(first) is Cache and first.mode is Mode.FAST
    second = export_natively(Function(step), (x, copy.deepcopy(first))).module()(x, copy.deepcopy(first))
    assert [layer.keys.shape[0] for layer in second.layers] == [4, 4]
    second.layers[0].update(x)  # it works on
    assert second.layers[0].keys.shape[0] == 6


def test_results_share_no_mutable_state() -> None:
    module = export_natively(Function(lambda x: [cache := Cache(), cache.layers[0].update(x)][0]), (torch.ones(2),))
    first, second = (module.module()(torch.ones(2)) for _ in range(2))
    first.seen[1] = True
    assert second.seen == {}


def test_the_constant_part_is_as_it_was_when_the_program_ended() -> None:
    cache = Cache()
    cache.layers[0].update(torch.ones(2))
    cache.seen[0] = True
    spec = pytree.tree_structure(flatten_inputs(lambda c: c, (cache,)).args[0])
    cache.seen.clear()  # as a tracer does that puts the heap back
    assert pytree.tree_unflatten([torch.ones(2)], spec).seen == {0: True}


def test_slots_subclasses_and_user_dicts() -> None:
    slotted = roundtrip(lambda x: Slotted(x + 1))
    assert slotted.value.tolist() == [2, 2] and slotted.hidden() == 3
    named = roundtrip(lambda x: Named(a=x + 1, b=3))
    assert type(named) is Named and named["b"] == 3 and named["a"].tolist() == [2, 2]
    bag = roundtrip(lambda x: Bag(a=x + 1, b=2))
    assert type(bag) is Bag and list(bag) == ["a", "b"] and bag["a"].tolist() == [2, 2]
    many = roundtrip(lambda x: Many([1, x + 1, "s"]))
    assert type(many) is Many and many[0] == 1 and many[1].tolist() == [2, 2] and many[2] == "s"
    user = roundtrip(lambda x: UserDict(a=x + 1))
    assert type(user) is UserDict and user["a"].tolist() == [2, 2]


def test_what_torch_knows_stays_as_it_is() -> None:
    out = roundtrip(lambda x: OrderedDict(b=Pair(x, None), a=(x + 1, [Mode.SLOW, torch.float16, x.shape])))
    assert type(out["b"]) is Pair and out["a"][1] == [Mode.SLOW, torch.float16, (2,)]


def test_the_constant_part_of_an_input_is_checked() -> None:
    point = Point(torch.ones(2), "a")
    module = export_natively(Function(lambda p: p.x * len(p.label)), (point,)).module()
    assert module(Point(torch.ones(2), "a")).tolist() == [1, 1]
    with pytest.raises(InputMismatch, match=r"label='a'.*given.*label='bb'"):
        module(Point(torch.ones(2), "bb"))
    with pytest.raises(InputMismatch, match=r"x\.x: .*\[2\].*given .*\[3\]"):
        module(Point(torch.ones(3), "a"))
    with pytest.raises(InputMismatch, match="expected a Point, given a tensor"):
        module(torch.ones(2))


def test_saved_programs_rebuild_their_objects(tmp_path: Path) -> None:
    def forward(p: Point) -> Any:
        cache = Cache(Mode.SLOW)
        cache.layers[1].update(p.x)
        return cache

    program = export_natively(Function(forward), (Point(torch.ones(2)),))
    torch.export.save(program, tmp_path / "p.pt2")
    out = torch.export.load(tmp_path / "p.pt2").module()(Point(torch.ones(2)))
    assert type(out) is Cache and out.mode is Mode.SLOW and out.layers[1].keys.tolist() == [1, 1]


def test_a_class_may_bring_its_own_functions() -> None:
    class Odd:
        def __init__(self, tensor: torch.Tensor) -> None:
            self.made_with = threading.Lock()
            self.tensor = tensor

    register_container(Odd, lambda odd: ([odd.tensor], None), lambda children, _: Odd(*children))
    out = roundtrip(lambda x: Odd(x + 1))
    assert out.tensor.tolist() == [2, 2] and not out.made_with.locked()
    with pytest.raises(TypeError):
        register_container(Odd, lambda odd: ([], None))


def test_cycles_and_strange_leaves_are_refused_with_their_path() -> None:
    cache = Cache()
    cache.layers[0].keys = torch.ones(2)
    cache.layers.append(cache)  # type: ignore[arg-type]
    with pytest.raises(UnsupportedValue, match=r"c\.layers\[2\]: the object contains itself"):
        flatten_inputs(lambda c: c, (cache,))
    with pytest.raises(UnsupportedValue, match=r"d\['k'\]\[1\]: a value of type builtins.set"):
        flatten_inputs(lambda d: d, ({"k": [1, {2}]},))
    with pytest.raises(UnsupportedValue, match=r"m: a torch\.nn\.modules\.linear\.Linear, a module"):
        flatten_inputs(lambda m: m, (torch.nn.Linear(1, 1),))


def test_flattening_is_undone_by_unflattening() -> None:
    tree = Nested(Point(torch.ones(1)), [Point(torch.ones(2), "b")])
    flatten_inputs(lambda t: t, (tree,))
    leaves, spec = pytree.tree_flatten(tree)
    again = pytree.tree_unflatten(leaves, spec)
    assert again.items[0].label == "b" and pytree.tree_structure(again) == spec
    assert pytree.treespec_loads(pytree.treespec_dumps(spec)) == spec


@pytest.mark.parametrize(
    "value",
    [None, 1.5, "s", [1, (2,)], {3: {4}}, frozenset({1}), torch.float16, torch.device("cpu"), Mode.FAST, Cache],
)  # fmt: skip
def test_constants_are_written_and_read(value: Any) -> None:
    assert decode(encode(value)) == value


def test_a_constant_that_cannot_be_written_says_so() -> None:
    with pytest.raises(TypeError, match="lock"):
        encode(threading.Lock())
