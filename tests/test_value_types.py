"""The sets of types are defined once (dynamo_lite/value_types.py), and each that differs has a reason that holds."""

from __future__ import annotations

import ast
import collections
import copy
import enum
import re
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import pytest
import torch

from dynamo_lite import value_types as v
from dynamo_lite.guards.values import is_atom, same_atom
from dynamo_lite.interpreter.datamodel.callees import callee_key

ROOT = Path(__file__).parents[1]
SAMPLES: dict[type, tuple[Any, Any]] = {
    int: (3, 3), float: (2.5, 2.5), complex: (1j, 1j), bool: (True, True), str: ("ab", "a" + "b"), bytes: (b"x", b"x"),
    type(None): (None, None), type(...): (..., ...), type(NotImplemented): (NotImplemented, NotImplemented),
    range: (range(3), range(0, 3)), torch.dtype: (torch.float32, torch.float), torch.layout: (torch.strided,) * 2,
    torch.device: (torch.device("cpu"), torch.device("cpu")), torch.memory_format: (torch.contiguous_format,) * 2,
    torch.Size: (torch.Size([1]), torch.Size([1])),
}  # fmt: skip


class Color(enum.Enum):
    RED = 1


def test_no_other_file_defines_one() -> None:
    """By name: a display of types, of a name that says atoms, containers or callables of C."""
    found = []
    for package in ("dynamo_lite", "guards", "symbolic_shapes"):
        for path in (ROOT / package).rglob("*.py"):
            if path.name == "value_types.py" or "cases" in path.parts:
                continue
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                targets = getattr(node, "targets", [getattr(node, "target", None)])
                names = [target.id for target in targets if isinstance(target, ast.Name)]
                if any(re.search(r"ATOM|CONTAINERS?$|C_CALLABLES|BOUND_IN_C", name) for name in names):
                    inside = {n.id for n in ast.walk(node.value) if isinstance(n, ast.Name)} if node.value else set()  # type: ignore[attr-defined]
                    if len(inside & {"int", "str", "bytes", "list", "tuple", "dict", "set", "BuiltinFunctionType"}) > 1:
                        found.append(f"{path.relative_to(ROOT)}: {names}")
    assert found == ["dynamo_lite/tracing/heap/snapshots.py: ['_CONTAINERS']"]  # with how each is copied and filled


def test_python_needs_no_torch_for_its_sets() -> None:
    code = "import sys; from dynamo_lite.value_types import ATOMS, C_CALLABLES; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
    with pytest.raises(AttributeError):
        v.NOTHING_OF_THIS_NAME  # noqa: B018


@pytest.mark.parametrize("kind", v.SHAPES_AND_CONSTANTS)
def test_equal_constants_may_stand_for_each_other(kind: type) -> None:
    one, other = SAMPLES[kind]
    assert type(one) is kind and one == other and copy.deepcopy(one) == one and not hasattr(one, "__dict__")
    assert (kind in v.CONSTANTS) == (kind is not torch.Size)  # a shape is a tuple, and may hold symbols
    if kind in v.ATOMS:
        assert is_atom(one) and same_atom(one, other)


def test_operators_of_numbers_and_text_are_c() -> None:
    assert set(v.NUMBERS_AND_TEXT) < set(v.ATOMS)
    for kind in v.NUMBERS_AND_TEXT:
        assert type(vars(kind).get("__eq__", int.__eq__)) is types.WrapperDescriptorType


def test_what_a_graph_holds_and_what_a_structure_holds() -> None:
    assert {*v.GRAPH_ATOMS, *v.STRUCTURE_ATOMS, type(NotImplemented)} == {*v.ATOMS}
    assert set(v.IN_STRUCTURE) == {*v.TORCH_CONSTANTS, enum.Enum}
    assert isinstance(Color.RED, v.IN_STRUCTURE) and type(Color.RED) not in v.IN_STRUCTURE


def test_members_of_an_enum_are_one_object_and_have_attributes() -> None:
    assert isinstance(Color.RED, v.UNIQUE_OR_CONSTANT) and not isinstance(Color.RED, v.CONSTANTS)
    assert copy.deepcopy(Color.RED) is Color.RED and Color.RED.__dict__


def test_equal_floats_are_no_key_of_an_operator() -> None:
    assert 0.0 == -0.0 and str(0.0) != str(-0.0) and float not in v.OPERATOR_KEYS
    for kind in v.OPERATOR_KEYS:
        one, other = SAMPLES[kind]
        assert one == other and repr(one) == repr(other) and hash(one) == hash(other)


def test_what_is_writable_is_an_expression() -> None:
    for kind in v.WRITABLE:
        assert eval(repr(SAMPLES[kind][0]), {"torch": torch}) == SAMPLES[kind][0]
    with pytest.raises(NameError):
        eval(repr(torch.device("cpu")), {"torch": torch})


def test_what_is_saved_is_less_than_the_constants() -> None:
    assert set(v.SAVED_CONSTANTS) < set(v.CONSTANTS) and complex not in v.SAVED_CONSTANTS


def test_what_holds_no_functions_may_change() -> None:
    assert set(v.ATOMS) < v.HOLD_NO_FUNCTIONS
    assert {bytearray, types.ModuleType} <= v.HOLD_NO_FUNCTIONS - set(v.ATOMS)
    assert not v.HOLD_NO_FUNCTIONS & {*v.CONTAINERS_AND_VIEWS}


def test_containers() -> None:
    assert set(v.CONTAINERS) - set(v.BUILT_IN_CONTAINERS) == {collections.deque}
    assert all(type(made) in v.BUILT_IN_CONTAINERS for made in ([], (), {}, {1}, frozenset()))
    assert all(type(made) in v.CONTAINERS_AND_VIEWS for made in ({}.keys(), {}.values(), {}.items()))
    for kind in v.ITERATED_IN_C:
        assert type(vars(kind)["__iter__"]) is types.WrapperDescriptorType


def test_what_is_compared_by_item_looks_at_identity_first() -> None:
    class Never:
        __hash__ = object.__hash__

        def __eq__(self, other: object) -> bool:
            raise AssertionError

    one = Never()
    for kind in v.COMPARED_BY_ITEM:
        made: Any = slice(one) if kind is slice else kind({1: one}) if issubclass(kind, dict) else kind([one])
        assert made == copy.copy(made)
    assert not {set, frozenset} & {*v.COMPARED_BY_ITEM}


def test_mutable_containers_have_layouts_of_their_own() -> None:
    for kind in v.MUTABLE_CONTAINERS:
        made: Any = type("Sub", (kind,), {})()
        assert type(made).__basicsize__ >= kind.__basicsize__ > object.__basicsize__
        with pytest.raises(TypeError):
            hash(made)


def test_bound_callables_are_made_at_each_access() -> None:
    bound = [[].append, re.compile("a").match, (3).__add__]
    assert {type(fn) for fn in bound} == v.BOUND_IN_C
    assert all(type(callee_key(fn, ())[0]) in v.C_FUNCTIONS for fn in bound)
    assert type((3).__add__) not in v.BOUND_METHODS_OF_C  # a slot of a type, which has another name there
    assert v.C_CALLABLES == v.C_FUNCTIONS | v.BOUND_IN_C
    assert {type(fn) for fn in (len, list.append, int.__add__, vars(dict)["fromkeys"])} == v.C_FUNCTIONS
