"""The graph module of a program generates its code when somebody asks for it, and says then what it always said."""

from __future__ import annotations

import copy
import gc
import inspect
import pickle
from typing import Any

import pytest
import torch
from torch import fx, nn

from dynamo_lite import export


@pytest.fixture
def generated(monkeypatch: pytest.MonkeyPatch) -> list[fx.GraphModule]:
    """The graph modules whose code a graph was asked for."""
    found: list[fx.GraphModule] = []
    python_code = fx.Graph.python_code

    def watched(self: fx.Graph, *args: Any, **kwargs: Any) -> Any:
        found.append(self.owning_module)
        return python_code(self, *args, **kwargs)

    monkeypatch.setattr(fx.Graph, "python_code", watched)
    return found


def program() -> Any:
    return export(nn.Sequential(nn.Linear(3, 3), nn.ReLU()), (torch.ones(2, 3),))


def test_an_export_generates_no_code(generated: list[fx.GraphModule]) -> None:
    made = program()
    assert not generated
    assert "aten.linear" in made.graph_module.code
    assert "aten.relu" in made.graph_module.code
    assert len(generated) == 1


def test_it_is_the_code_that_generating_at_once_gives() -> None:
    made, other = program().graph_module, program().graph_module
    other.recompile()
    assert made.code == other.code
    assert made._lineno_map == other._lineno_map
    assert made._prologue_start == other._prologue_start
    assert [*inspect.signature(made.forward).parameters] == [*inspect.signature(other.forward).parameters]
    assert type(program().graph_module).forward.__code__.co_varnames == type(other).forward.__code__.co_varnames


def test_the_graph_module_runs() -> None:
    made, weight, bias, x = program(), torch.ones(3, 3), torch.zeros(3), torch.ones(2, 3)
    (out,) = made.graph_module(weight, bias, x)
    torch.testing.assert_close(out, torch.full((2, 3), 3.0))


def test_copies_and_pickles_have_their_own() -> None:
    made = program()
    code = program().graph_module.code
    assert copy.deepcopy(made).graph_module.code == code
    assert copy.copy(made).graph_module.code == code
    assert copy.deepcopy(made.graph_module).code == code
    assert made.run_decompositions().graph_module.code


def test_a_pickle_is_that_of_a_module_with_code() -> None:
    made, other = program().graph_module, program().graph_module
    other.recompile()  # torch traces the code of a pickle anew, with names of its own
    assert pickle.loads(pickle.dumps(made)).code == pickle.loads(pickle.dumps(other)).code


def test_a_class_that_outlives_its_module_has_no_code() -> None:
    cls = type(program().graph_module)
    gc.collect()
    with pytest.raises(AttributeError):
        cls.forward  # noqa: B018
