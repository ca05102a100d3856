"""Containers that libraries registered with pytree without a flatten_with_keys_fn."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.export import Dim
from torch.utils import _pytree as pytree

import dynamo_lite
from dynamo_lite.program.trees.paths import flatten_with_path, leaves_with_path


class Named(dict):  # type: ignore[type-arg]
    """Its context is a list of names, as diffusers registers its outputs."""


class Pair:
    def __init__(self, left: Any, right: Any) -> None:
        self.left, self.right = left, right


pytree.register_pytree_node(
    Named, lambda d: (list(d.values()), list(d)), lambda values, names: Named(zip(names, values))
)
pytree.register_pytree_node(Pair, lambda p: ([p.left, p.right], None), lambda values, _: Pair(*values))


class Model(nn.Module):
    def forward(self, pair: Pair, named: Named) -> Any:
        return Named(sum=pair.left + named["a"], rest=Pair(pair.right * 2, [named["b"]]))


def test_a_container_without_keys_is_an_input_and_an_output() -> None:
    args: Any = (Pair(torch.randn(2), torch.randn(2)), Named(a=torch.randn(2), b=torch.randn(2)))
    _compare(dynamo_lite.export(Model(), args), args)
    specs = {"pair": [{0: Dim.AUTO}] * 2, "named": [{0: Dim.AUTO}] * 2}
    program = dynamo_lite.export(Model(), args, dynamic_shapes=specs)
    _compare(program, pytree.tree_map_only(Tensor, lambda t: t.repeat(3), args))


def _compare(program: Any, args: Any) -> None:
    ours, theirs = program.module()(*args), Model()(*args)
    assert type(ours) is Named and type(ours["rest"]) is Pair
    torch.testing.assert_close(pytree.tree_leaves(ours), pytree.tree_leaves(theirs))


class Arguments(NamedTuple):
    x: Tensor
    scale: Tensor


def test_a_named_tuple_of_positional_arguments_is_a_tuple() -> None:
    args = Arguments(torch.randn(2), torch.randn(2))
    program = dynamo_lite.export(lambda x, y: x * y, args)
    assert torch.equal(program.module()(*args), args.x * args.scale)


def test_paths_are_pytrees_where_it_has_keys() -> None:
    def is_list(value: Any) -> bool:
        return type(value) is list

    tree = {"a": [1, (2, None)], "b": torch.Size([3])}
    assert flatten_with_path(tree) == pytree.tree_flatten_with_path(tree)
    assert leaves_with_path(tree, is_list) == pytree.tree_leaves_with_path(tree, is_list)
    paths = [pytree.keystr(path) for path, _ in leaves_with_path(Named(a=1, b=Pair(2, 3)))]
    assert paths == ["['a']", "['b'][0]", "['b'][1]"]
