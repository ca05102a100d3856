"""Loops of a known length whose iterations branch on data: operators from so many branches on, against eager."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, fx, nn

import dynamo_lite
from tests.control_flow.harness import same


def nodes_of(program: Any) -> int:
    parts = program.graph_module.modules()
    return sum(len(part.graph.nodes) for part in parts if isinstance(part, fx.GraphModule))


def operators_of(program: Any) -> list[str]:
    return [name for node in program.graph.nodes if (name := str(node.target)) in ("scan", "while_loop", "cond")]


class Of(nn.Module):
    def __init__(self, fn: Callable[..., Any], rounds: int) -> None:
        super().__init__()
        self.fn, self.rounds = fn, rounds
        self.layer = nn.Linear(4, 4)

    def forward(self, *args: Any) -> Any:
        return self.fn(self, *args)


def collapsed(module: Any, scores: Tensor) -> Tensor:
    """CTC: what is neither blank nor what was before."""
    best, out, before = scores.argmax(-1), [], -1
    for t in range(module.rounds):
        label = best[t % scores.shape[0]].item()
        if label != 0 and label != before:
            out.append(label)
        before = label
    return torch.tensor(out, dtype=torch.long)


def counted_down(module: Any, x: Tensor) -> tuple[Tensor, Tensor]:
    """Early stopping with patience: data may end it from the third iteration on."""
    best, since = torch.tensor(float("inf")), 0
    for _ in range(module.rounds):
        x = torch.tanh(module.layer(x))
        loss = x.pow(2).mean()
        if loss < best:
            best, since = loss, 0
        else:
            since += 1
            if since >= 3:
                break
    return x, best


def clipped(module: Any, x: Tensor) -> tuple[Tensor, int]:
    steps = 0
    for step in range(module.rounds):
        x = x * 0.9 - 0.1
        if x.sum() < 0:
            continue
        x = x + step * 0.01
        steps += 1
    return x, steps


def paired(module: Any, x: Tensor) -> Tensor:
    """zip of the rows of two tensors, in a comprehension."""
    rows = x.repeat(module.rounds // x.shape[0], 1)
    signs = rows.sum(-1) > 0
    return torch.stack([row.sin() if sign else module.layer(row) for row, sign in zip(rows, signs)])


def numbered(module: Any, x: Tensor) -> Tensor:
    rows = x.repeat(module.rounds // x.shape[0], 1)
    out = torch.zeros_like(rows)
    for at, row in enumerate(rows):
        out[at] = row.cos() if row.sum() > 0 else row * at
    return out


CASES: dict[Callable[..., Any], Callable[[], tuple[Any, ...]]] = {
    collapsed: lambda: (torch.randn(8, 5),),
    counted_down: lambda: (torch.randn(3, 4),),
    clipped: lambda: (torch.randn(4) * 5,),
    paired: lambda: (torch.randn(4, 4),),
    numbered: lambda: (torch.randn(4, 4),),
}


@pytest.mark.parametrize("fn", CASES, ids=lambda fn: fn.__name__)
def test_the_program_does_not_grow_with_the_iterations(fn: Callable[..., Any]) -> None:
    sizes = []
    for rounds in (128, 512):
        torch.manual_seed(0)
        module = Of(fn, rounds).eval()
        with torch.no_grad():
            program = dynamo_lite.export(module, CASES[fn]())
            sizes.append(nodes_of(program))
            for seed in range(3):
                torch.manual_seed(seed)
                inputs = CASES[fn]()
                assert same(program.module()(*copy.deepcopy(inputs)), module(*inputs))
    assert abs(sizes[0] - sizes[1]) < 10


def test_pairs_with_numbers_of_the_data() -> None:
    def fn(module: Any, x: Tensor) -> Tensor:
        signs = (x.sum(-1) > 0).long().tolist()
        return torch.stack([row.sin() if sign else module.layer(row) for row, sign in zip(x, signs)])

    module = Of(fn, 0)
    with torch.no_grad():
        program = dynamo_lite.export(module, (torch.randn(120, 4),))
        x = torch.randn(120, 4)
        assert operators_of(program) == ["scan"]
        assert same(program.module()(x), module(x))
    program = dynamo_lite.export(module, (torch.randn(120, 4),))
    assert set(operators_of(program)) == {"cond"}  # torch's scan has no gradient for numbers of the data
    x = torch.randn(120, 4)
    ours, other = program.module(), copy.deepcopy(module)
    want, got = other(x), ours(x)
    assert same(want, got)
    want.sin().sum().backward()
    got.sin().sum().backward()
    assert torch.allclose(dict(ours.named_parameters())["layer.weight"].grad, other.layer.weight.grad, atol=1e-4)


def test_few_branches_are_unrolled() -> None:
    with torch.no_grad():
        program = dynamo_lite.export(Of(clipped, 12).eval(), (torch.randn(4),))
    assert set(operators_of(program)) == {"cond"}


def test_layers_by_the_number_of_a_round_are_unrolled() -> None:
    class Layers(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(12))

        def forward(self, x: Tensor) -> Tensor:
            for i in range(12):
                x = self.layers[i](x)
                for _ in range(9):
                    if x.sum() > 0:
                        x = x - 0.5
            return x

    module = Layers().eval()
    with torch.no_grad():
        program = dynamo_lite.export(module, (torch.randn(2, 4),))
        assert set(operators_of(program)) == {"cond"}
        for seed in range(3):
            torch.manual_seed(seed)
            x = torch.randn(2, 4) * 3
            assert same(program.module()(x), module(x))


def test_a_list_that_its_loop_changes_is_gone_over_as_in_eager() -> None:
    def fn(x: Tensor) -> Tensor:
        numbers = [*range(12)]
        for number in numbers:
            if x.sum() > number:
                x = x - 1
            if number == 3:
                numbers[5] = 50
        return x

    program = dynamo_lite.export(fn, (torch.randn(4),))
    for value in (0.5, 30.0, 2.0):
        x = torch.full((4,), value)
        assert same(program.module()(x), fn(x))


# -- experts, chosen by data


class Experts(nn.Module):
    def __init__(self, count: int) -> None:
        super().__init__()
        self.gate = nn.Linear(4, count)
        self.experts = nn.ModuleList(nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 4)) for _ in range(count))


class Stacked(Experts):
    def forward(self, x: Tensor) -> Tensor:
        return torch.stack([self.experts[e](row) for row, e in zip(x, self.gate(x).argmax(-1))])


class Weighted(Experts):
    def forward(self, x: Tensor) -> Tensor:
        weights, chosen = self.gate(x).softmax(-1).max(-1)
        return torch.stack([weights[t] * self.experts[chosen[t].item()](x[t]) for t in range(x.shape[0])])


class Written(Experts):
    def forward(self, x: Tensor) -> Tensor:
        out = torch.zeros_like(x)
        for t, e in enumerate(self.gate(x).argmax(-1).tolist()):
            out[t] = self.experts[e](x[t])
        return out


@pytest.mark.parametrize("make", [Stacked, Weighted, Written])
def test_each_expert_is_in_the_program_once(make: type[Experts]) -> None:
    torch.manual_seed(0)
    module = make(16).eval()
    with torch.no_grad():
        program = dynamo_lite.export(module, (torch.randn(32, 4),))
        parts = [part for part in program.graph_module.modules() if isinstance(part, fx.GraphModule)]
        linears = [node for part in parts for node in part.graph.nodes if node.target is torch.ops.aten.linear.default]
        assert len(linears) <= 2 * 16 + 2
        for seed in range(3):
            torch.manual_seed(seed)
            x = torch.randn(32, 4)
            assert same(program.module()(x), module(x))


@pytest.mark.parametrize("make", [Stacked, Written])
def test_the_branches_on_an_expert_join_behind_its_call(make: type[Experts]) -> None:
    """Before, each token's branches lay in those of the token before."""
    module = make(4).eval()
    program = dynamo_lite.export(module, (torch.randn(4, 4),))
    conds = [
        node
        for part in program.graph_module.modules()
        if isinstance(part, fx.GraphModule)
        for node in part.graph.nodes
        if str(node.target) == "cond"
    ]
    assert len(conds) == 4 * 3
    x = torch.randn(4, 4)
    ours, other = program.module(), copy.deepcopy(module)
    want, got = other(x), ours(x)
    assert same(want, got)
    want.sum().backward()
    got.sum().backward()
    ours_by_name = dict(ours.named_parameters())
    for name, parameter in other.named_parameters():
        mine = ours_by_name[name].grad
        assert (mine is None) == (parameter.grad is None), name
        assert mine is None or torch.allclose(mine, parameter.grad, atol=1e-5)


def test_an_expert_by_a_tensor_with_one_element() -> None:
    class Hit(Experts):
        def forward(self, x: Tensor) -> Tensor:
            weights, chosen = self.gate(x).softmax(-1).topk(2, -1)
            out, mask = torch.zeros_like(x), nn.functional.one_hot(chosen, 4).permute(2, 1, 0)
            for e in (mask.sum((-1, -2)) > 0).nonzero():
                k, t = torch.where(mask[e].squeeze(0))
                out.index_add_(0, t, self.experts[e](x[t]) * weights[t, k, None])
            return out

    module = Hit(4).eval()
    with torch.no_grad():
        program = dynamo_lite.export(module, (torch.randn(6, 4),)).module()
        for seed in range(3):
            torch.manual_seed(seed)
            x = torch.randn(6, 4)
            assert same(program(x), module(x))


def _rows_in_a_list(x: Tensor) -> Any:
    rows = [row * 1 for row in x]
    total = x[0]
    for row in rows:
        if row.sum() > 0:
            total = total + row
    return total, rows[0], rows[2:4], len(rows)


def _list_used_as_it_is(x: Tensor) -> Any:
    rows: list[Tensor] = []
    for row in x:
        rows.append(row * 2)
    rows[0] = rows[0] + 1
    rows.reverse()
    last = rows.pop()
    return (last if x.sum() > 0 else last * 3), [row for row in rows if row is not last]


def _changed_in_a_second_loop(x: Tensor) -> Any:
    rows = [row * 1 for row in x]
    for row in rows:
        if row.sum() > 0:
            row.mul_(2)
    return rows[0], torch.stack(rows)


@pytest.mark.parametrize("rows", [20, 120])
@pytest.mark.parametrize("program", [_rows_in_a_list, _list_used_as_it_is, _changed_in_a_second_loop])
def test_lists_of_loops_that_stay_unrolled(program: Any, rows: int) -> None:
    """The attempt to make an operator of the loop is undone, and so is what it put in the place of the list."""
    x = torch.randn(rows, 3, generator=torch.Generator().manual_seed(0))
    module = dynamo_lite.export(program, (x,)).module()
    for given in (x, -x, x.abs()):
        torch.testing.assert_close(module(given), program(given), rtol=0, atol=0)
