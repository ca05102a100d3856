"""The shorter way from torch's dispatcher to the recorder's mode, and that nothing of it stays behind."""

from __future__ import annotations

import gc
import weakref

import pytest
import torch
from torch import nn

import dynamo_lite
from dynamo_lite.capture import dispatch_modes
from dynamo_lite.capture._torch_pre_dispatch import Shortcut
from dynamo_lite.capture.recorder import Recorder
from dynamo_lite.torch_internals._torch_dispatch import DispatchKey
from dynamo_lite.torch_internals._torch_fx import call_function

_RELU = torch.ops.aten.relu.default


class _Twice(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(torch.relu(x) + 1)


def _handlers() -> list[object]:
    return [
        op._dispatch_cache[DispatchKey.PreDispatch]
        for op in (_RELU, torch.ops.aten.add.Tensor)
        if DispatchKey.PreDispatch in op._dispatch_cache
    ]


def test_no_handler_stays_after_an_export(monkeypatch: pytest.MonkeyPatch) -> None:
    during: list[object] = []
    clear = Shortcut.clear

    def note(self: Shortcut) -> None:
        during.extend(weakref.ref(handler) for handler in _handlers())  # type: ignore[type-var]
        clear(self)

    monkeypatch.setattr(Shortcut, "clear", note)
    dynamo_lite.export(_Twice(), (torch.randn(2),))
    assert len(during) == (2 if torch.__version__.startswith("2.13.") else 0)
    assert _handlers() == []
    gc.collect()
    assert [ref() for ref in during] == [None] * len(during)  # type: ignore[operator]


def test_no_handler_stays_after_a_refusal() -> None:
    class Refused(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.relu(torch.relu(x) + 1) if x.sum() > 0 else x

    with pytest.raises(Exception, match="data"):
        dynamo_lite.export(Refused(), (torch.ones(2),), control_flow="refuse")
    assert _handlers() == []


def test_the_graph_is_as_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    x = torch.randn(2)
    short = dynamo_lite.export(_Twice(), (x,))
    monkeypatch.setattr(dispatch_modes.Shortcut, "add", lambda *_: None)
    long = dynamo_lite.export(_Twice(), (x,))
    assert str(short.graph) == str(long.graph)
    assert [[*node.meta] for node in short.graph.nodes] == [[*node.meta] for node in long.graph.nodes]
    assert torch.equal(short.module()(x), _Twice()(x))


def test_an_operator_s_error_leaves_the_mode_in_its_place() -> None:
    class Caught(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = torch.mm(x, x)
            try:
                torch.mm(x, torch.ones(3, 3))
            except RuntimeError:
                y = y + 1
            return torch.mm(y, x)

    x = torch.randn(2, 2)
    program = dynamo_lite.export(Caught(), (x,))
    assert [str(node.target) for node in program.graph.nodes].count("aten.mm.default") == 2
    assert torch.equal(program.module()(x), Caught()(x))


def test_a_node_is_what_create_node_makes() -> None:
    texts = []
    for make in (call_function, None):
        graph = torch.fx.Graph()
        a, b = graph.placeholder("a"), graph.placeholder("b")
        args, kwargs = ([a, b, a], 1, slice(b, None)), {"alpha": a}
        if make is not None:
            node = make(graph, torch.add, args, kwargs, "add")
        else:
            node = graph.create_node("call_function", torch.add, args, kwargs, name="add")
        users = [[*map(str, n.users)] for n in (a, b)]
        found = graph.find_nodes(op="call_function", target=torch.add) == [node]
        kinds = (type(node.args), type(node.args[0]), type(node.kwargs))
        texts.append((str(graph), node.name, users, [*map(str, node.all_input_nodes)], found, kinds))
    assert texts[0] == texts[1]


def test_another_mode_at_the_key_is_called_as_torch_calls_it() -> None:
    shortcut = Shortcut()
    shortcut.add(_RELU, dispatch_modes.OperatorMode(Recorder()))
    x = torch.randn(2)
    try:  # torch may empty the operators' caches meanwhile
        program = torch.export.export(_Twice(), (x,), strict=False)
    finally:
        shortcut.clear()
    assert [str(node.target) for node in program.graph.nodes].count("aten.relu.default") == 2
    assert torch.equal(program.module()(x), _Twice()(x))
    assert _handlers() == []
