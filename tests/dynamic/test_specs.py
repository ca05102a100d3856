"""The language of dynamic_shapes: what each way of saying it declares, and what is refused with which place."""

from __future__ import annotations

import pickle
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.export import Dim
from torch.export import dynamic_shapes as torchs

from dynamo_lite.errors import InvalidArguments
from dynamo_lite.program.shapes.dynamic_shapes import InvalidDynamicShapes
from dynamo_lite.symbolic_shapes import Int
from dynamo_lite.symbolic_shapes.expressions.expr import INF
from dynamo_lite.symbolic_shapes.torch_env.inputs import TensorPolicy
from tests.dynamic.spec_cases import Batch, Cache, Pair, declared, sizes, tensor


def xy(x: Any, y: Any) -> None: ...


def one(x: Any) -> None: ...


def positional(x: Any, /, **options: Any) -> None: ...


def many(x: Any, *rest: Any, n: int = 3, **options: Any) -> None: ...


B, C = Dim("b"), Dim("c", min=2, max=64)
X, Y = tensor(4, 5), tensor(9, 4)
Call = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any], Any]

ACCEPTED: dict[str, tuple[Call, dict[str, str]]] = {
    "nothing": ((one, (X,), {}, None), {}),
    "an empty dict": ((one, (X,), {}, {}), {}),
    "by name, by dimension": ((one, (X,), {}, {"x": {0: B}}), {"x.shape[0]": "s0"}),
    "by position, by tuple": ((xy, (X, Y), {}, ((B, None), (None, B))), {"x.shape[0]": "s0", "y.shape[1]": "s0"}),
    "a list of lists": ((xy, (X, Y), {}, [[None, C], [Dim.DYNAMIC, None]]), {"x.shape[1]": "s0", "y.shape[0]": "s1"}),
    "None for a tensor": ((xy, (X, Y), {}, {"x": None, "y": {0: Dim.AUTO}}), {"y.shape[0]": "s0"}),
    "static in words": ((one, (X,), {}, {"x": {0: Dim.STATIC, 1: 5}}), {}),
    "a dimension from behind": ((one, (X,), {}, {"x": {-1: B}}), {"x.shape[1]": "s0"}),
    "derived": ((xy, (X, Y), {}, {"x": {0: B}, "y": {0: 2 * B + 1}}), {"x.shape[0]": "s0", "y.shape[0]": "2*s0 + 1"}),
    "derived before its root": ((xy, (Y, X), {}, {"x": {0: 2 * B + 1}, "y": {0: B}}),
                                {"x.shape[0]": "2*s0 + 1", "y.shape[0]": "s0"}),
    "derived from a root that no input has": ((one, (Y,), {}, {"x": {0: 3 * B, 1: B + 1}}),
                                              {"x.shape[0]": "3*s0", "x.shape[1]": "s0 + 1"}),
    "AUTO and a size of 1": ((one, (tensor(1, 0, 3),), {}, ((Dim.AUTO, Dim.AUTO, Dim.AUTO),)), {"x.shape[2]": "s0"}),
    "DYNAMIC and a size of 1": ((one, (tensor(1, 3),), {}, ({0: Dim.DYNAMIC},)), {"x.shape[0]": "s0"}),
    "a list": ((one, ([X, Y],), {}, {"x": [{0: B}, (None, C)]}), {"x[0].shape[0]": "s0", "x[1].shape[1]": "s1"}),
    "a tuple described by a list": ((one, ((X, Y),), {}, {"x": [None, {1: C}]}), {"x[1].shape[1]": "s0"}),
    "a dict": ((one, ({"k": [X], "l": Y},), {}, ({"l": None, "k": [{1: B}]},)), {"x['k'][0].shape[1]": "s0"}),
    "an OrderedDict": ((one, (OrderedDict(a=X),), {}, {"x": {"a": {0: B}}}), {"x['a'].shape[0]": "s0"}),
    "None for a whole list": ((xy, ([X, {"k": Y}], Y), {}, {"x": None, "y": {0: B}}), {"y.shape[0]": "s0"}),
    "a named tuple": ((one, (Pair(X, Y),), {}, {"x": Pair(None, {0: B})}), {"x.right.shape[0]": "s0"}),
    "a named tuple by position": ((one, (Pair(X, Y),), {}, {"x": (None, {0: B})}), {"x.right.shape[0]": "s0"}),
    "a named tuple by fields": ((one, (Pair(X, Y),), {}, {"x": {"left": {0: B}, "right": None}}),
                                {"x.left.shape[0]": "s0"}),
    "a dataclass, flat": ((one, (Batch(X, Y),), {}, {"x": [{0: B}, {1: B}]}),
                          {"x.data.shape[0]": "s0", "x.mask.shape[1]": "s0"}),
    "a dataclass by fields": ((one, (Batch(X),), {}, {"x": {"data": {0: B}, "mask": None}}), {"x.data.shape[0]": "s0"}),
    "a dataclass by one of its own": ((one, (Batch(X, Y),), {}, {"x": Batch({0: B}, (C, None))}),
                                      {"x.data.shape[0]": "s0", "x.mask.shape[0]": "s1"}),
    "an object": ((one, (Cache(X, Y),), {}, {"x": {"layers": [{0: B}, {1: B}]}}),
                  {"x.layers[0].shape[0]": "s0", "x.layers[1].shape[1]": "s0"}),
    "an object, flat": ((one, (Cache(X),), {}, {"x": [[{0: B}]]}), {"x.layers[0].shape[0]": "s0"}),
    "*args": ((many, (X, Y, [X]), {}, {"x": None, "rest": ({1: B}, [{0: B}])}),
              {"rest_0.shape[1]": "s0", "rest_1[0].shape[0]": "s0"}),
    "**kwargs": ((many, (X,), {"z": Y, "n": 7}, {"x": None, "n": None, "options": {"z": {0: B}}}),
                 {"z.shape[0]": "s0"}),
    "a keyword of **kwargs at the top": ((many, (X,), {"z": Y}, {"x": None, "z": {0: B}}), {"z.shape[0]": "s0"}),
    "keywords of **kwargs in both forms": ((many, (X,), {"z": Y, "w": X},
                                            {"x": None, "z": {0: B}, "options": {"w": None}}), {"z.shape[0]": "s0"}),
    "a keyword named as **kwargs is": ((many, (X,), {"options": Y}, {"x": None, "options": {"options": {0: B}}}),
                                       {"options.shape[0]": "s0"}),
    "a keyword named as a positional argument is": ((positional, (X,), {"x": Y}, {"x": None, "options": {"x": {0: B}}}),
                                                    {"x.shape[0]": "s0"}),
    "keywords by position follow the signature": ((xy, (), {"y": Y, "x": X}, ({1: B}, None)), {"x.shape[1]": "s0"}),
    "an int": ((many, (X,), {"n": 7}, {"x": None, "n": Dim.DYNAMIC}), {"n": "s0"}),
    "an int that is AUTO and 1": ((many, (X,), {"n": 1}, {"x": None, "n": Dim.AUTO}), {"n": "s0"}),
    "an int with a name": ((many, (X,), {"n": 4}, {"x": {0: B}, "n": B}), {"x.shape[0]": "s0", "n": "s0"}),
    "an int as it is": ((many, (X,), {"n": 7}, {"x": None, "n": 7}), {}),
    "ints in a list": ((one, ([3, 4, X],), {}, {"x": [None, Dim.DYNAMIC, None]}), {"x[1]": "s0"}),
    "other leaves": ((one, ([None, True, "s", 1.5, X],), {}, {"x": [None, None, None, None, {0: B}]}),
                     {"x[4].shape[0]": "s0"}),
}


@pytest.mark.parametrize("call, expected", ACCEPTED.values(), ids=ACCEPTED)
def test_accepted(call: Call, expected: dict[str, str]) -> None:
    f, args, kwargs, specs = call
    assert sizes(f, args, specs, kwargs) == expected


BEYOND_TORCH = {
    "None for a whole list", "a named tuple by position", "a named tuple by fields", "a dataclass by fields",
    "a dataclass by one of its own", "an object", "an object, flat", "an OrderedDict", "an int with a name",
    "a tuple described by a list", "a dimension from behind", "a keyword named as a positional argument is",
}
if not hasattr(torchs, "_normalize_dynamic_shapes"):  # since torch 2.15
    BEYOND_TORCH |= {"a keyword of **kwargs at the top", "keywords of **kwargs in both forms"}


@pytest.mark.parametrize("name", [n for n in ACCEPTED if n not in BEYOND_TORCH])
def test_torch_takes_it_too(name: str) -> None:
    f, args, kwargs, specs = ACCEPTED[name][0]
    check_by_torch(f, args, kwargs, specs)


def check_by_torch(f: Callable[..., Any], args: Any, kwargs: Any, specs: Any) -> None:
    """torch's own check of the structure (not of the sizes, which torch checks while it traces)."""
    args, kwargs = torch.utils._pytree.tree_map_only(int, torchs._IntWrapper, (args, kwargs))
    if hasattr(torchs, "_normalize_dynamic_shapes"):
        specs = torchs._normalize_dynamic_shapes(specs, f, args, kwargs)
    torchs._check_dynamic_shapes(torchs._combine_args(f, args, kwargs), specs)


REFUSED: dict[str, tuple[Call, list[str]]] = {
    "no structure": ((one, (X,), {}, 3), ["dynamic_shapes is a int: give a dict by argument name"]),
    "a Dim for everything": ((one, (X,), {}, B), ["dynamic_shapes is a Dim: give a dict by argument name"]),
    "no such argument": ((one, (X,), {}, {"y": None}), ["dynamic_shapes has 'y': there is no such argument",
                                                        "dynamic_shapes states nothing about 'x'"]),
    "an argument left out": ((xy, (X, Y), {}, {"x": None}), ["states nothing about 'y'"]),
    "an argument that is not given": ((many, (X,), {}, {"x": None, "n": None}),
                                      ["has 'n', which the call does not give"]),
    "too few by position": ((xy, (X, Y), {}, (None,)), ["describes 1 arguments by position; the call gives 2 (x, y)"]),
    "inside of the only argument": ((one, ({"a": X},), {}, {"a": {0: B}}), ["enclose it in a tuple, or in {'x': ...}"]),
    "a keyword of **kwargs left out": ((many, (X,), {"z": Y, "w": X}, {"x": None, "z": {0: B}}),
                                       ["states nothing about 'w'"]),
    "a keyword of **kwargs twice": ((many, (X,), {"z": Y}, {"x": None, "z": {0: B}, "options": {"z": None}}),
                                    ["has 'z' twice: as dynamic_shapes['z'] and as dynamic_shapes['options']['z']"]),
    "a keyword of **kwargs beside None": ((many, (X,), {"z": Y}, {"x": None, "z": {0: B}, "options": None}),
                                          ["has 'z' beside 'options', which is the NoneType None: give all keywords"]),
    "a keyword that **kwargs does not take": ((many, (X,), {"z": Y}, {"x": None, "z": None, "w": None}),
                                              ["has 'w': there is no such argument"]),
    "a wrong keyword of **kwargs at the top": ((many, (X,), {"z": Y}, {"x": None, "z": {0: "?"}}),
                                               ["dynamic_shapes['z'][0]: '?' (str) does not specify"]),
    "a keyword at the top that is an argument's name": ((positional, (X,), {"x": Y}, {"x": {0: B}}),
                                                        ["states nothing about 'options'"]),
    "*args with the wrong number": ((many, (X, Y, Y), {}, {"x": None, "rest": (None,)}),
                                    ["dynamic_shapes['rest'] is the tuple (None,): give a tuple or list with an entry "
                                     "for each of the 2 arguments that *rest takes"]),
    "**kwargs with other keys": ((many, (X,), {"z": Y}, {"x": None, "options": {"w": None}}),
                                 ["dynamic_shapes['options'] is the dict {'w': None}: give a dict with the keys"]),
    "a Dim for a tensor": ((one, (X,), {}, {"x": B}), ["dynamic_shapes['x'] is Dim('b', min=0), and the input there is "
                                                       "a tensor"]),
    "a tuple of another rank": ((one, (X,), {}, ((B,),)), ["dynamic_shapes[0] has 1 entries; the tensor there has 2"]),
    "no such dimension": ((one, (X,), {}, {"x": {2: B}}), ["dynamic_shapes['x'][2]: 2 is not a dimension"]),
    "a dimension by name": ((one, (X,), {}, {"x": {"batch": B}}), ["dynamic_shapes['x']['batch']: 'batch' is not a d"]),
    "a dimension twice": ((one, (X,), {}, {"x": {1: B, -1: B}}), ["speaks of dimension 1 a second time"]),
    "no spec": ((one, (X,), {}, {"x": {0: "b"}}), ["dynamic_shapes['x'][0]: 'b' (str) does not specify"]),
    "deep down": ((one, ([{"k": (X,)}],), {}, {"x": [{"k": ({0: 1.5},)}]}),
                  ["dynamic_shapes['x'][0]['k'][0][0]: 1.5 (float) does not specify"]),
    "another size": ((one, ([{"k": (X,)}],), {}, {"x": [{"k": ((4, 6),)}]}),
                     ["dynamic_shapes['x'][0]['k'][0][1]: x[0]['k'][0].shape[1] is 5 in the example, its spec is 6"]),
    "another int": ((many, (X,), {"n": 7}, {"x": None, "n": 8}), ["dynamic_shapes['n']: n is 7 in the example"]),
    "out of the range": ((one, (X,), {}, {"x": {0: Dim("b", max=3)}}),
                         ["dynamic_shapes['x'][0]: x.shape[0] is 4 (b is 4) in the example, outside of Dim('b', m"]),
    "static, out of its range": ((one, (X,), {}, {"x": {0: Dim.STATIC(min=6)}}), ["outside of Dim.STATIC(min=6)"]),
    "out of the range of a hint": ((one, (X,), {}, {"x": {0: Dim.AUTO(min=6)}}), ["outside of Dim.AUTO(min=6)"]),
    "two sizes with one name": ((xy, (X, Y), {}, {"x": {0: B}, "y": {0: B}}),
                                ["dynamic_shapes['y'][0]: y.shape[0] and x.shape[0] share Dim b"]),
    "one name, two ranges": ((xy, (X, Y), {}, {"x": {0: B}, "y": {1: Dim("b", max=9)}}), ["one name with two ranges"]),
    "a derived size that is none": ((xy, (X, Y), {}, {"x": None, "y": {0: 2 * B}}),
                                    ["y.shape[0] is 9 in the example: no b makes 2*b that"]),
    "a negative derived size": ((one, (X,), {}, {"x": {0: B - 3}}), ["b - 3 is negative for b = 0"]),
    "a list with other entries": ((one, ([X, Y],), {}, {"x": [None]}),
                                  ["dynamic_shapes['x'] has 1 entries, and the input there is a list of 2"]),
    "a dict for a list": ((one, ([X],), {}, {"x": {0: {0: B}}}),
                          ["is the dict {0: {0: Dim('b', min=0)}}, and the input there is a list of 1"]),
    "a dict with other keys": ((one, ({"a": X, "b": Y},), {}, {"x": {"a": None, "c": None}}),
                               ["dynamic_shapes['x'] lacks 'b' and has 'c' beyond it"]),
    "a list for a dict": ((one, ({"a": X},), {}, {"x": [None]}), ["the input there is a dict with the keys 'a'"]),
    "a field that is no tensor": ((one, (Cache(X),), {}, {"x": {"layers": [None], "scale": Dim.AUTO}}),
                                  ["has 'scale' beyond it; the input there is a Cache whose tensors are in 'layers'"]),
    "a spec for a float": ((one, ([1.5],), {}, {"x": [Dim.AUTO]}), ["dynamic_shapes['x'][0] is DimHint(AUTO), but the "
                                                                    "input x[0] is a float"]),
    "a spec for a bool": ((one, ([True],), {}, {"x": [Dim.DYNAMIC]}), ["the input x[0] is a bool"]),
    "a tuple for an int": ((many, (X,), {"n": 7}, {"x": None, "n": (B,)}), ["dynamic_shapes['n']: (Dim('b', min=0),)"]),
    "everything at once": ((xy, (X, [Y]), {}, {"x": {0: 5, 3: B}, "y": [{0: "?"}], "z": None}),
                           ["dynamic_shapes has 'z'", "dynamic_shapes['x'][3]", "dynamic_shapes['x'][0]",
                            "dynamic_shapes['y'][0][0]"]),
}


@pytest.mark.parametrize("call, messages", REFUSED.values(), ids=REFUSED)
def test_refused(call: Call, messages: list[str]) -> None:
    f, args, kwargs, specs = call
    with pytest.raises(InvalidDynamicShapes) as caught:
        sizes(f, args, specs, kwargs)
    for message in messages:
        assert any(message in problem for problem in caught.value.problems), caught.value.problems
    assert len(caught.value.problems) == len(messages)
    assert isinstance(caught.value, ValueError) and isinstance(caught.value, InvalidArguments)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_sources_and_policies() -> None:
    inputs, env = declared(many, (Cache(X, Y), 3), {"x": {"layers": [{0: B}, None]}, "rest": [Dim.DYNAMIC]})
    first, second, number = inputs.policies
    assert isinstance(first, TensorPolicy) and isinstance(number, Int) and second is None
    assert [source.name for source in inputs.sources] == ["L['x'].layers[0]", "L['x'].layers[1]", "L['rest_0']"]
    assert first.source is inputs.sources[0] and env.hint_of(number) == 3
    b, n = inputs.table.symbols()
    assert (b.lo, b.hi, b.source) == (0, INF, "L['x'].layers[0].size()[0]")
    assert n.lo == -INF and n in inputs.table.integers() and b in env.size_like and n not in env.size_like


def test_static_declares_nothing() -> None:
    inputs, env = declared(xy, (X, Y), {"x": {0: Dim.STATIC(min=2, max=4)}, "y": {1: Dim.STATIC}})
    assert not inputs.is_dynamic and not env.core.symbols


# -- random structures ----------------------------------------------------------------------------------------------
@st.composite
def trees(draw: st.DrawFn, depth: int = 3) -> tuple[Any, Any, list[Any]]:
    """(inputs, a description, for each leaf what the description says of each dimension)."""
    nested = ["list", "tuple", "dict", "Pair", "Batch"] if depth else []
    kind = draw(st.sampled_from(["tensor", "tensor", "int", "none", *nested]))
    if kind == "tensor":
        shape = draw(st.lists(st.integers(2, 5), max_size=3))
        said = {i: draw(st.sampled_from([None, Dim.AUTO, Dim.DYNAMIC, Dim.STATIC, n])) for i, n in enumerate(shape)}
        leaf = [i for i, spec in said.items() if spec is Dim.AUTO or spec is Dim.DYNAMIC]
        form = draw(st.sampled_from(["dict", "tuple", "list"]))
        given = {i: s for i, s in said.items() if s is not None} if form == "dict" else [*said.values()]
        return tensor(*shape), tuple(given) if form == "tuple" else given, [leaf]
    if kind == "int":
        given = draw(st.sampled_from([None, Dim.DYNAMIC, Dim.AUTO, 3]))
        return 3, given, [given is Dim.DYNAMIC or given is Dim.AUTO]
    if kind == "none":
        return draw(st.sampled_from([None, True, "text"])), None, [None]
    if kind in ("Pair", "Batch"):
        (a, sa, la), (b, sb, lb) = draw(trees(depth - 1)), draw(trees(depth - 1))
        if kind == "Batch" and (a is None or b is None):  # torch leaves such a field out
            kind = "Pair"
        return (Pair(a, b), Pair(sa, sb), la + lb) if kind == "Pair" else (Batch(a, b), [sa, sb], la + lb)
    parts = draw(st.lists(trees(depth - 1), max_size=3))
    leaves = [leaf for _, _, found in parts for leaf in found]
    values, specs = [p[0] for p in parts], [p[1] for p in parts]
    if kind == "dict":
        keys = draw(st.permutations(["a", "b", "c"]))[: len(parts)]
        order = draw(st.permutations(range(len(parts))))
        return dict(zip(keys, values)), {keys[i]: specs[i] for i in order}, leaves
    return (values, specs, leaves) if kind == "list" else (tuple(values), tuple(specs), leaves)


@given(trees(), trees(), st.booleans())
@settings(max_examples=150)
def test_random_structures(first: Any, second: Any, by_name: bool) -> None:
    (x, sx, lx), (y, sy, ly) = first, second
    specs = {"y": sy, "x": sx} if by_name else (sx, sy)
    inputs, _env = declared(xy, (x, y), specs)
    found: list[Any] = []
    for leaf, policy in zip(inputs.inputs.leaves, inputs.policies):
        if isinstance(leaf, torch.Tensor):
            found.append([] if policy is None else [i for i, s in enumerate(policy.sizes) if s is not None])
        else:
            found.append(policy is not None if type(leaf) is int else None)
    assert found == lx + ly
    symbols = inputs.table.symbols()
    assert len(symbols) == sum(len(f) if isinstance(f, list) else bool(f) for f in found)  # none is shared
    check_by_torch(xy, (x, y), {}, specs)


MUTATIONS: list[Callable[[Any], Any]] = [
    lambda spec: {"zz": spec}, lambda spec: "text", lambda spec: 2.5, lambda spec: {7: Dim.AUTO},
    lambda spec: [1, 2, 3, 4, 5], lambda spec: [None] * 6,
]


@given(trees(), st.data())
@settings(max_examples=150)
def test_what_torch_refuses_is_refused(first: Any, data: st.DataObject) -> None:
    """One part of a good description replaced by another thing: where torch's check says no, so do we, with a place."""
    x, spec, _ = first
    places: list[tuple[Any, Any]] = []

    def collect(container: Any) -> None:
        items = container.items() if isinstance(container, dict) else enumerate(container)
        for key, part in items:
            places.append((container, key))
            if isinstance(part, (list, dict)):
                collect(part)

    root = [spec]
    collect(root)
    container, key = data.draw(st.sampled_from(places))
    container[key] = data.draw(st.sampled_from(MUTATIONS))(container[key])
    try:
        check_by_torch(one, (x,), {}, tuple(root))
    except Exception:
        with pytest.raises(InvalidDynamicShapes, match=r"dynamic_shapes\[0\]"):
            declared(one, (x,), tuple(root))
