"""`program.module().train()` and `.eval()`: what the model computes in that mode, with the module's own tensors."""

from __future__ import annotations

import copy
import io
import pickle
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim

import dynamo_lite

X = torch.randn(6, 4)
ROWS = {"x": {0: Dim("rows", min=3, max=20)}}


class Block(nn.Module):
    """Dropout, batch norm, and a branch of its own on the mode."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.norm, self.drop = nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Dropout(0.5)
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x: Tensor) -> Tensor:
        y = self.drop(self.norm(self.layer(x)))
        if self.training:
            self.calls += 1
            return y * 2
        return y


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.Sequential(Block(), Block())
        self.out = nn.Linear(4, 4)
        self.out.weight = self.blocks[0].layer.weight
        self.plain = torch.randn(4)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(self.blocks(x)) + self.plain


def state(module: nn.Module) -> dict[str, Tensor]:
    return {name: value.detach().clone() for name, value in module.state_dict().items()}


def same_state(a: nn.Module, b: nn.Module) -> bool:
    left, right = a.state_dict(), b.state_dict()
    return list(left) == list(right) and all(torch.equal(left[name], right[name]) for name in left)


def agree(module: nn.Module, eager: nn.Module, x: Tensor) -> None:
    """One call of each, with the same random numbers."""
    results = []
    for one in (module, eager):
        torch.manual_seed(3)
        results.append(one(x))
    assert torch.equal(*results)
    assert same_state(module, eager)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("strict", [True, False])
def test_a_training_loop_is_as_in_eager(training: bool, strict: bool) -> None:
    model = Model().train(training)
    eager, before = copy.deepcopy(model), state(model)
    module = dynamo_lite.export(model, (X,), dynamic_shapes=ROWS, strict=strict).module()
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    mine, part = dict(module.named_parameters()), module.blocks
    optimizers = [torch.optim.SGD(one.parameters(), 1e-3, momentum=0.9) for one in (module, eager)]
    for epoch in range(3):
        assert module.train() is module and module.training
        eager.train()
        for rows in (4, 9):
            x = torch.randn(rows, 4)
            for one, optimizer in zip((module, eager), optimizers):
                torch.manual_seed(epoch)
                optimizer.zero_grad()
                one(x).square().sum().backward()
                optimizer.step()
            assert same_state(module, eager)
        with torch.no_grad():
            assert not module.eval().training
            agree(module, eager.eval(), torch.randn(5, 4))
    assert all(mine[name] is value for name, value in module.named_parameters()) and module.blocks is part
    assert all(part.training is training for part in model.modules())


@pytest.mark.parametrize(
    "around",
    [nullcontext(), torch.no_grad(), torch.inference_mode(), torch.autocast("cpu"), torch.device("meta")],
    ids=["nothing", "no_grad", "inference_mode", "autocast", "device"],
)
def test_what_is_around_the_switch_is_not_in_the_program(around: AbstractContextManager[Any]) -> None:
    model = Model().eval()
    module = dynamo_lite.export(model, (X,)).module()
    with around:
        try:
            module.train()
        except dynamo_lite.UnsupportedMode as error:
            assert isinstance(around, torch.device) and "not as it was" in str(error)
            return
    module(X).sum().backward()
    assert module.out.weight.grad is not None
    agree(module, copy.deepcopy(module._origin.recipe.root).train(), X)


def test_the_model_may_have_been_switched_itself() -> None:
    model = Model().eval()
    module = dynamo_lite.export(model, (X,)).module()
    model.train()
    eager = copy.deepcopy(model)
    agree(module.train(), eager, X)
    agree(module.eval(), eager.eval(), X)
    assert model.training


def test_the_tensors_are_those_of_the_module() -> None:
    model = Model().eval()
    eager = copy.deepcopy(model)
    module = dynamo_lite.export(model, (X,)).module()
    agree(module.train(), eager.train(), X)
    values = {name: value + 1 for name, value in state(module).items()}
    for one in (module, eager):
        one.load_state_dict(values, assign=True)
    for mode in (False, True, False):
        agree(module.train(mode), eager.train(mode), X)


def test_a_tied_parameter_stays_tied() -> None:
    model = Model().eval()
    module = dynamo_lite.export(model, (X,)).module()
    for mode in (True, False):
        module.train(mode)
        assert module.out.weight is module.blocks.get_submodule("0.layer").weight is model.out.weight
    other = dynamo_lite.export(model, (X,)).module()
    other.out.weight = nn.Parameter(torch.ones(4, 4))
    with pytest.raises(dynamo_lite.UnsupportedMode, match="the same tensor as another"):
        other.train()


def test_copies_are_switched_on_their_own() -> None:
    model = Model().train()
    module = dynamo_lite.export(model, (X,)).module()
    other = copy.deepcopy(module)
    eager = copy.deepcopy(model)
    agree(other.eval(), eager.eval(), X)
    with torch.no_grad():
        other.out.bias.add_(1)
        eager.out.bias.add_(1)
    agree(other.train(), eager.train(), X)
    agree(other.eval(), eager.eval(), X)
    assert not same_state(module, other) and module.training


@pytest.mark.parametrize("first", ["half", "train"])
def test_conversions_and_modes_together(first: str) -> None:
    model = Model().eval()
    eager = copy.deepcopy(model)
    module = dynamo_lite.export(model, (X,)).module()
    for step in (first, "train", "double", "eval", "train", "float", "eval"):
        getattr(module, step)(), getattr(eager, step)()
        agree(module, eager, X.to(eager.out.weight.dtype))
    assert module.out.weight.dtype == torch.float32


class Merges(nn.Module):
    """Adds a low-rank part to its weight for evaluation, and takes it out for training: no read of `training`."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.low = nn.Linear(4, 4, bias=False), nn.Parameter(torch.randn(4, 1))
        self.merged = False

    def train(self, mode: bool = True) -> Merges:
        if self.merged is mode:
            sign = -1 if mode else 1
            self.layer.weight.data = self.layer.weight.data + sign * self.low.data @ self.low.data.T
            self.merged = not mode
        return super().train(mode)

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x) if self.merged else self.layer(x) + x @ self.low @ self.low.T


class Frozen(Model):
    """Its first block is never trained."""

    def train(self, mode: bool = True) -> Frozen:
        super().train(mode)
        self.blocks[0].eval()
        return self


@pytest.mark.parametrize("kind", [Merges, Frozen])
def test_a_model_s_own_train(kind: type[nn.Module]) -> None:
    model = kind().train()
    eager = copy.deepcopy(model)
    module = dynamo_lite.export(model, (X,)).module()
    for mode in (True, False, False, True, False):
        agree(module.train(mode), eager.train(mode), X)


def test_hooks_of_the_user_stay() -> None:
    module = dynamo_lite.export(Model().train(), (X,)).module()
    seen: list[str] = []
    before = module.register_forward_pre_hook(lambda m, args, kwargs: seen.append("before"), with_kwargs=True)
    module.register_forward_hook(lambda m, args, out: seen.append("after"), always_call=True)
    module.eval()
    with pytest.raises(dynamo_lite.InputMismatch):
        module(X[:2])
    seen.clear()
    module(X)
    before.remove()
    module(X)
    module.train()(X)
    assert seen == ["before", "after", "after", "after"]


class Named(Model):
    def score(self, x: Tensor) -> Tensor:
        return self(x).sum(1)


def test_a_method() -> None:
    model = Named().eval()
    eager = copy.deepcopy(model)
    module = dynamo_lite.export(model.score, (X,)).module()
    module.train(), eager.train()
    torch.manual_seed(0)
    want = eager.score(X)
    torch.manual_seed(0)
    assert torch.equal(module(X), want)


def test_a_module_in_a_mode_is_pickled() -> None:
    module = dynamo_lite.export(Model().train(), (X,)).module().eval()
    other = pickle.loads(pickle.dumps(module))
    assert torch.equal(other(X), module(X))
    with pytest.raises(dynamo_lite.UnsupportedMode, match="exported in the other one"):
        other.train()


def test_where_there_is_no_model_the_error_says_so() -> None:
    model = Model().eval()
    program = dynamo_lite.export(model, (X,))
    file = io.BytesIO()
    dynamo_lite.save(program, file)
    file.seek(0)
    for one in (dynamo_lite.load(file), program.run_decompositions()):
        module = one.module()
        assert torch.equal(module.eval()(X), model(X))
        with pytest.raises(dynamo_lite.UnsupportedMode, match="export_methods") as raised:
            module.train()
        assert isinstance(raised.value, NotImplementedError)  # what torch raises for any mode
    block = Block().eval()
    with pytest.raises(dynamo_lite.UnsupportedMode, match="of a function"):
        dynamo_lite.export(lambda x: block(x), (X,)).module().train()
    with torch.no_grad():
        model.plain = torch.zeros(5)
    with pytest.raises(dynamo_lite.UnsupportedMode, match="not as it was"):
        program.module().train()
    changed = copy.deepcopy(program.module())
    changed.graph.output_node().args = (changed.graph.output_node().args[0],)
    changed.graph.create_node("call_function", torch.sin, (next(iter(changed.graph.nodes)),))
    changed.recompile()
    with pytest.raises(dynamo_lite.UnsupportedMode, match="graph has been changed"):
        changed.eval()
    with pytest.raises(ValueError, match="boolean"):
        program.module().train(1)  # type: ignore[arg-type]
