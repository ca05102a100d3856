"""What goes in and comes out: nested containers, dataclasses, named tuples, objects, constants, signatures."""

# Programs as users write them, odd ones too.

from __future__ import annotations

import collections
import dataclasses
import enum
from typing import NamedTuple

import torch
from torch import nn
from torch.utils import _pytree as pytree

from ..probe import Case, equal, refused, sound, t


class Point(NamedTuple):
    x: torch.Tensor
    y: torch.Tensor
    label: str = "none"


@dataclasses.dataclass
class Batch:
    ids: torch.Tensor
    mask: torch.Tensor | None = None
    scale: float = 2.0
    names: list[str] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True)
class FrozenBatch:
    ids: torch.Tensor
    n: int = 3


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class Cache:
    """Holds tensors that the pytree registry does not know."""

    def __init__(self):
        self.keys: list[torch.Tensor] = []
        self.length = 0

    def update(self, k):
        self.keys.append(k)
        self.length += k.shape[0]
        return torch.cat(self.keys)


class Slotted:
    __slots__ = ("a", "n")

    def __init__(self, a, n):
        self.a, self.n = a, n


class Bag(collections.OrderedDict):
    """As transformers' ModelOutput: a dict whose items are also attributes."""

    def __setitem__(self, key, value):
        super().__setitem__(key, value)
        super().__setattr__(key, value)

    def __getitem__(self, key):
        return super().__getitem__(key) if isinstance(key, str) else tuple(self.values())[key]


@equal
def nested_inputs():
    def forward(batch, pair):
        (a, b), rest = pair
        return batch["x"] * a + batch["deep"][0]["y"] - b, rest

    return forward, ({"x": t(3), "deep": [{"y": t(3)}]}, ((t(3), t(3)), None))


@equal
def nested_outputs():
    def forward(x):
        return {"a": [x, (x + 1, {"b": x * 2})], "c": None, "d": (), "e": [1, "s", 2.5, True]}

    return forward, (t(3),)


@equal
def dictionary_order_of_the_output():
    def forward(x):
        return {"z": x, "a": x + 1, "m": {2: x, 1: x * 2}}

    return forward, (t(3),)


@equal
def ordered_and_default_dict_outputs():
    def forward(x):
        d = collections.defaultdict(list)
        d["k"].append(x + 1)
        return collections.OrderedDict(b=x, a=x * 2), d, collections.deque([x, x * 3])

    return forward, (t(3),)


@equal
def named_tuple_in_and_out():
    def forward(p):
        return Point(p.x + p.y, p.x * 2, p.label + "!"), p

    return forward, (Point(t(3), t(3), "in"),)


@equal
def torch_return_types():
    def forward(x):
        return torch.max(x, 1), x.sort(), torch.linalg.qr(x)

    return forward, (t(3, 3),)


@equal
def dataclass_in_and_out():
    def forward(b):
        ids = b.ids * b.scale
        return Batch(ids, b.mask, b.scale + 1, [*b.names, "out"]), b.mask is None

    return forward, (Batch(t(3), names=["in"]),)


@equal
def frozen_dataclass_in_and_out():
    def forward(b):
        return FrozenBatch(b.ids * b.n, b.n + 1)

    return forward, (FrozenBatch(t(3)),)


@equal
def object_with_tensors_out():
    def forward(x):
        cache = Cache()
        y = cache.update(x)
        return y, cache

    return forward, (t(3),)


@equal
def object_with_tensors_in():
    cache = Cache()
    cache.update(t(2))

    def forward(x, cache):
        return torch.cat([*cache.keys, x]) * cache.length

    return forward, (t(3), cache)


@refused("input-container", "python-state")
def object_with_tensors_in_is_changed():
    cache = Cache()
    cache.update(t(2))

    def forward(x, cache):
        return cache.update(x)

    return forward, (t(3), cache)


@sound("input-container", "python-state")
def cache_in_changed_and_returned():
    cache = Cache()
    cache.update(t(2))

    def forward(x, cache):
        return cache.update(x), cache

    return Case(forward, (t(3), cache), returned=True)


@equal
def slotted_object_in_and_out():
    def forward(s):
        return Slotted(s.a * s.n, s.n + 1)

    return forward, (Slotted(t(3), 2),)


@equal
def dict_subclass_out():
    def forward(x):
        bag = Bag()
        bag["logits"] = x * 2
        bag["hidden"] = (x, x + 1)
        return bag

    return forward, (t(3),)


@equal
def enum_and_dtype_constants():
    def forward(x, colour, kind, device):
        y = x * colour.value if colour is Colour.BLUE else x
        return y.to(kind), colour

    return forward, (t(3), Colour.BLUE, torch.float64, torch.device("cpu"))


@equal
def slices_and_sizes_as_outputs():
    def forward(x):
        return x + 1, x.shape, x.dim(), x.dtype, x.device

    return forward, (t(2, 3),)


@equal
def none_inputs():
    def forward(x, mask=None, bias=None):
        return x if mask is None else x * mask

    return forward, (t(3), None), {"bias": None}


@equal
def keyword_inputs_in_other_order():
    def forward(x, *, a, b=2.0, c):
        return x * a + b * c

    return forward, (t(3),), {"c": t(3), "a": t(3)}


@equal
def variable_arguments():
    def forward(first, *rest, scale=2.0, **named):
        return first * scale + sum(rest) + sum(named.values()), len(rest), sorted(named)

    return forward, (t(3), t(3), t(3)), {"p": t(3), "q": t(3)}


@equal
def no_inputs_at_all():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.ones(3))

        def forward(self):
            return self.w * 2 + torch.arange(3)

    return M(), ()


@equal
def defaults_that_are_tensors():
    w = t(3)

    def forward(x, weight=w):
        return x * weight

    return forward, (t(3),)


@equal
def argument_names_that_collide():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.x = nn.Parameter(torch.ones(3))
            self.register_buffer("p_x", torch.zeros(3))

        def forward(self, p_x, b_p_x, add, mul):
            add_1 = p_x + b_p_x
            return self.x * add_1 + self.p_x + add * mul

    return M(), (t(3), t(3), t(3), t(3))


@equal
def positional_only_and_python_keywords():
    def forward(x, /, self, input):
        return x * self + input

    return forward, (t(3), t(3)), {"input": t(3)}


@refused("input-container")
def list_argument_appended():
    def forward(xs):
        xs.append(xs[0] * 2)
        return xs[-1]

    return forward, ([t(3)],)


@refused("input-container")
def dict_argument_item_set():
    def forward(d):
        d["y"] = d["x"] * 2
        return d["y"] + 1

    return forward, ({"x": t(3)},)


@refused("input-container")
def dict_argument_item_popped():
    def forward(d):
        return d.pop("x") * 2

    return forward, ({"x": t(3), "y": t(3)},)


@refused("input-container")
def list_argument_item_replaced():
    def forward(xs):
        xs[0] = xs[0] + 1
        return xs[0] * xs[1]

    return forward, ([t(3), t(3)],)


@refused("input-container")
def nested_list_argument_cleared():
    def forward(d):
        y = d["xs"][0] * 2
        d["xs"].clear()
        return y

    return forward, ({"xs": [t(3)]},)


@refused("input-container", "python-state")
def dataclass_argument_attribute_set():
    def forward(b):
        b.ids = b.ids + 1
        return b.ids * 2

    return forward, (Batch(t(3)),)


@refused("input-container", "python-state")
def dataclass_argument_counts():
    def forward(b):
        b.scale += 1
        return b.ids * b.scale

    return forward, (Batch(t(3)),)


@equal
def containers_copied_before_they_change():
    def forward(d, xs):
        d = dict(d)
        d["x"] = d["x"] + 1
        ys = [*xs]
        ys.append(d["x"])
        return d, ys

    return forward, ({"x": t(3)}, [t(3)])


@equal
def keyword_dictionary_may_change():
    def forward(x, **kwargs):
        kwargs["y"] = kwargs.pop("y") * 2
        kwargs.setdefault("scale", 3.0)
        return x * kwargs["scale"] + kwargs["y"]

    return forward, (t(3),), {"y": t(3)}


@equal
def input_container_returned():
    def forward(xs):
        return xs, xs[0] + 1

    return forward, ([t(3), t(3)],)


@equal
def same_list_twice():
    xs = [t(3)]

    def forward(a, b):
        return a[0] * 2 + b[0]

    return Case(forward, (xs, xs), also=[(([t(3)], [t(3)]), {})])


@equal
def shared_object_in_the_output():
    def forward(x):
        part = [x + 1]
        return {"a": part[0], "b": part[0]}

    return forward, (t(3),)


@sound()
def function_as_output():
    def forward(x):
        return x, lambda v: v * 2

    return forward, (t(3),)


@sound()
def function_as_input():
    def forward(x, act):
        return act(x) * 2

    return forward, (t(3), torch.relu)


@sound()
def class_as_input():
    def forward(x, kind):
        return x * 2 if kind is Cache else x

    return forward, (t(3), Cache)


@sound()
def generator_as_output():
    def forward(x):
        return (x * i for i in range(3))

    return forward, (t(3),)


@sound("unsupported-value")
def range_and_slice_as_inputs():
    def forward(x, at):
        return x[at] * 2

    return forward, (t(5), slice(1, 3))


@equal
def numbers_that_look_alike():
    def forward(x, flag, one, real):
        return x * (2 if flag is True else 3), type(one).__name__, type(real).__name__, one

    return forward, (t(3), True, 1, 1.0)


@equal
def integer_arguments_select_code():
    def forward(x, n, name):
        for _ in range(n):
            x = getattr(x, name)()
        return x

    return forward, (t(3), 2, "sin")


@equal
def module_with_annotations_only_kwargs():
    class M(nn.Module):
        def forward(self, *, input_ids, attention_mask=None):
            return input_ids * (1 if attention_mask is None else attention_mask)

    return M(), (), {"input_ids": t(3), "attention_mask": t(3)}


@equal
def frozenset_and_bytes_constants():
    def forward(x, raw):
        return x * len(raw), raw

    return forward, (t(3), b"abc")


@equal
def large_python_integers_and_special_floats():
    def forward(x, n, inf):
        return x * (n % 7), n, inf, x.clamp(max=inf)

    return forward, (t(3), 2**70, float("inf"))


class Reordered(collections.OrderedDict):
    """Its order is beside the dict's."""


@equal
def ordered_dict_subclass_in_its_own_order():
    def forward(d):
        made = Reordered(first=d["b"], second=d["a"] + 1)
        made.move_to_end("first")
        return made, list(d), Reordered(reversed(d.items()))

    def given():
        d = Reordered(b=t(3), a=t(3) + 1)
        d.move_to_end("b")
        return d

    return Case(forward, (given(),))


@equal
def constants_that_the_program_made():
    def forward(x):
        class Kind(enum.Enum):
            LEFT = "left"

        batch = Batch(x)
        batch.colour = Colour.RED
        batch.settings = Settings(3)
        keys = {FrozenKey("k", 2): x, Kind.LEFT.value: x + 1}
        return batch, keys, Kind.LEFT is Kind("left")

    return forward, (t(3),)


class Settings:
    """Holds no tensor: a constant of the program."""

    def __init__(self, n):
        self.n = n
        self.names = ["a", "b"][:n]

    def __eq__(self, other):
        return isinstance(other, Settings) and vars(self) == vars(other)

    __hash__ = None


@dataclasses.dataclass(frozen=True)
class FrozenKey:
    name: str
    n: int


@refused("registered-container")
def tree_functions_on_an_unregistered_object():
    class Pair:
        def __init__(self, left):
            self.left = left

    def forward(pair):
        return pytree.tree_map_only(torch.Tensor, lambda leaf: leaf * 2, [pair])[0].left

    return forward, (Pair(t(3)),)


@equal
def tree_functions_on_an_object_made_inside():
    class Pair:
        def __init__(self, left):
            self.left = left

    def forward(x):
        return pytree.tree_map(lambda leaf: leaf.left if isinstance(leaf, Pair) else leaf * 2, [Pair(x), x])

    return forward, (t(3),)


@equal
def size_of_a_tensor_as_an_argument():
    def forward(x, size, named):
        kind = isinstance(size, torch.Size), type(size) is tuple
        return x.new_zeros(size) + named["size"].numel(), size[0] + len(size), kind

    return forward, (t(2), torch.Size([2, 3]), {"size": torch.Size([4, 5])})
