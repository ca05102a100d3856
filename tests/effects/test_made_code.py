"""A program that makes code at run time, whose text a library keeps for tracebacks (a graph module, attrs)."""

from __future__ import annotations

import linecache
from typing import Any

import pytest
import torch
from torch import fx, nn

import dynamo_lite
from dynamo_lite.errors import UnsupportedEffect

X = torch.linspace(-1, 1, 3)


def traced(x: torch.Tensor) -> Any:
    made = fx.symbolic_trace(lambda t: t.cos() + 1)
    return made(x), len(made.graph.nodes)


def written_by_hand(x: torch.Tensor) -> Any:
    graph = fx.Graph()
    graph.output(graph.call_method("sin", (graph.placeholder("a"),)))
    made = fx.GraphModule(nn.Module(), graph)
    made.graph.find_nodes(op="call_method", target="sin")[0].target = "exp"
    made.recompile()
    return made(x)


def as_attrs_does(x: torch.Tensor) -> Any:
    """As the library attrs makes a method of a class: a name that is not taken yet, and the text under it."""
    text, count = "def doubled(t):\n    return t * 2\n", 0
    while (name := f"<made code {count}>") in linecache.cache:
        count += 1
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    made: dict[str, Any] = {}
    exec(compile(text, name, "exec"), made)
    return made["doubled"](x)


@pytest.mark.parametrize("forward", [traced, written_by_hand, as_attrs_does])
def test_made_code_leaves_nothing(forward: Any) -> None:
    forward(X)  # the names differ in each call
    before = {name for name in linecache.cache if "made code" in name}
    program = dynamo_lite.export(forward, (X,))
    assert {name for name in linecache.cache if "made code" in name} == before
    assert "linecache" in str(dynamo_lite.trace(forward, (X,)).notes)
    for x in (X, X + 1):
        torch.testing.assert_close(program.module()(x), forward(x))


@pytest.mark.parametrize("entry", [1, "text", ("a flag",), (1, None, "no lines", "name")])
@pytest.mark.parametrize("name", ["<seen>", "seen"])
def test_what_is_no_source_text_is_an_effect(name: str, entry: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linecache, "cache", {} if name == "seen" else {name: entry})
    left = (0, None, [], name) if name == "<seen>" else entry

    def forward(x: torch.Tensor) -> torch.Tensor:
        if linecache.cache.get(name) == left:
            return x + 2
        linecache.cache[name] = left
        return x + 1

    with pytest.raises(UnsupportedEffect):
        dynamo_lite.export(forward, (X,))


def test_a_graph_module_of_the_caller_that_is_rewritten() -> None:
    class Rewrites(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.made = fx.symbolic_trace(nn.Sequential(nn.ReLU()))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            out = self.made(x)
            self.made.graph.inserting_before()
            for node in self.made.graph.find_nodes(op="output"):
                with self.made.graph.inserting_before(node):
                    node.args = (self.made.graph.call_method("add", (node.args[0], 1)),)
            self.made.recompile()
            return out

    with pytest.raises(UnsupportedEffect):
        dynamo_lite.export(Rewrites(), (X,))


class Asked(type):
    """A metaclass that is told what is read of its classes."""

    names: list[str] = []

    def __getattribute__(cls, name: str) -> Any:
        Asked.names.append(name)
        return super().__getattribute__(name)


class Counted(metaclass=Asked):
    count = 0


COUNTED = Counted()


def test_naming_the_place_of_a_change_asks_no_metaclass() -> None:
    def forward(x: torch.Tensor) -> torch.Tensor:
        COUNTED.count += 1
        return x * COUNTED.count

    Asked.names.clear()
    with pytest.raises(UnsupportedEffect):
        dynamo_lite.export(forward, (X,))
    assert "__module__" not in Asked.names and "__qualname__" not in Asked.names
