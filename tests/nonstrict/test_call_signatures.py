"""preserve_module_call_signature: unflatten gives the submodules their own signatures, as with torch.export."""

from __future__ import annotations

import copy
import io
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim

import dynamo_lite
from dynamo_lite import errors


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.register_buffer("bias", torch.ones(4))

    def forward(self, pair: tuple[Tensor, Tensor], *, scale: float = 1.0, gradients: bool = True) -> dict[str, Tensor]:
        left, right = pair
        if not gradients:
            with torch.no_grad():
                right = self.linear(right)
        return {"sum": self.linear(left) * scale + right, "kept": left + self.bias}


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = Block()
        self.second = Block()
        self.last = nn.Identity()

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        out = self.first((x, y), scale=2.0)
        out = self.second((out["sum"], out["kept"]), gradients=False)
        out = self.first((out["sum"], x), scale=3.0)
        return self.last(out["sum"] - out["kept"])


ARGS = (torch.arange(8.0).reshape(2, 4), torch.ones(2, 4))
PATHS = ("first", "second", "first.linear")
ENTRIES = ["first", "second", "first.linear", "first@1", "first.linear@1"]


def signatures(program: Any) -> dict[str, Any]:
    return {entry.fqn: entry.signature for entry in program.module_call_graph if entry.fqn and entry.signature}


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("sizes", [None, ({0: Dim("n", min=0)}, {0: Dim("n", min=0)})])
def test_unflatten_gives_modules_their_signature(strict: bool, sizes: Any) -> None:
    model = Model()
    options: dict[str, Any] = {"dynamic_shapes": sizes, "preserve_module_call_signature": PATHS}
    program = dynamo_lite.export(model, ARGS, strict=strict, **options)
    assert sorted(signatures(program)) == sorted(ENTRIES)
    plain = dynamo_lite.export(model, ARGS, dynamic_shapes=sizes)
    assert [n.target for n in program.graph.nodes if n.op == "call_function"].count(torch.ops.aten.linear.default) == [
        n.target for n in plain.graph.nodes if n.op == "call_function"
    ].count(torch.ops.aten.linear.default)
    torch.testing.assert_close(program.module()(*ARGS), model(*ARGS), rtol=0, atol=0)
    flat = torch.export.unflatten(copy.deepcopy(program))
    torch.testing.assert_close(flat(*ARGS), model(*ARGS), rtol=0, atol=0)
    theirs = torch.export.unflatten(torch.export.export(model, ARGS, strict=False, **options))
    torch.testing.assert_close(theirs(*ARGS), model(*ARGS), rtol=0, atol=0)


def test_a_part_can_be_called_and_replaced() -> None:
    model = Model()
    program = dynamo_lite.export(model, ARGS, preserve_module_call_signature=("second",))
    flat = torch.export.unflatten(program)
    given = model.first(ARGS)
    pair = (given["sum"], given["kept"])
    left, right = flat.second(pair, gradients=False), model.second(pair, gradients=False)
    assert left.keys() == right.keys()
    torch.testing.assert_close(left["sum"], right["sum"], rtol=0, atol=0)
    model.second = flat.second = Block()
    torch.testing.assert_close(flat(*ARGS), model(*ARGS), rtol=0, atol=0)


def test_the_signatures_equal_torchs() -> None:
    model = Model()
    ours = signatures(dynamo_lite.export(model, ARGS, preserve_module_call_signature=PATHS))
    theirs = signatures(torch.export.export(model, ARGS, preserve_module_call_signature=PATHS))
    assert ours.keys() == theirs.keys()
    for path, own in ours.items():
        assert (own.in_spec, own.out_spec) == (theirs[path].in_spec, theirs[path].out_spec), path
        if "@" not in path:  # torch lists the arguments of the first call only
            assert [type(a) for a in own.inputs] == [type(a) for a in theirs[path].inputs], path


def test_a_call_in_a_region_has_none() -> None:
    program = dynamo_lite.export(Model(), ARGS, preserve_module_call_signature=("second.linear",))
    assert signatures(program) == {}
    assert "second.linear is called in a no_grad or autocast region: its signature is not kept" in program.notes


def test_a_module_without_operators_has_none() -> None:
    program = dynamo_lite.export(Model(), ARGS, preserve_module_call_signature=("last",))
    assert signatures(program) == {}
    assert "last runs no operator: its signature is not kept" in program.notes


def test_saved_and_loaded() -> None:
    model = Model()
    file = io.BytesIO()
    torch.export.save(dynamo_lite.export(model, ARGS, preserve_module_call_signature=PATHS), file)
    file.seek(0)
    flat = torch.export.unflatten(torch.export.load(file))
    torch.testing.assert_close(flat(*ARGS), model(*ARGS), rtol=0, atol=0)


class Constant(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Module()
        self.inner.forward = lambda x: (x + 1, 3)  # type: ignore[method-assign]
        self.alias = self.inner

    def forward(self, x: Tensor) -> Any:
        return self.inner(x)


@pytest.mark.parametrize(
    "path, said", [("none", "no submodule"), ("", "no submodule"), ("alias", "'inner'"), ("inner", "a constant")]
)
def test_what_cannot_be_kept_is_refused(path: str, said: str) -> None:
    with pytest.raises(errors.InvalidArguments, match=said):
        dynamo_lite.export(Constant(), ARGS[:1], preserve_module_call_signature=(path,))


class Shares(nn.Module):
    """Two parts that hold one submodule; `again` is a second name of it."""

    class Part(nn.Module):
        def __init__(self, shared: nn.Module) -> None:
            super().__init__()
            self.shared = shared
            self.again = shared
            self.own = nn.Linear(4, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.own(self.shared(x)) + self.again(x)

    class Counts(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 4)
            self.register_buffer("calls", torch.zeros(()))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.calls.add_(1)
            return self.layer(x) * self.calls

    def __init__(self) -> None:
        super().__init__()
        shared = self.Counts()
        self.first, self.second = self.Part(shared), self.Part(shared)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(self.first(x))


@pytest.mark.parametrize("strict", [True, False])
def test_a_shared_submodule_is_named_below_the_module_that_calls_it(strict: bool) -> None:
    model, x = Shares(), torch.randn(2, 4)
    program = dynamo_lite.export(copy.deepcopy(model), (x,), strict=strict)
    stacks = [[path for path, _ in node.meta.get("nn_module_stack", {}).values()] for node in program.graph.nodes]
    assert ["", "second", "second.shared", "second.shared.layer"] in stacks
    parts = torch.export.unflatten(program)
    for _ in range(2):
        torch.testing.assert_close(parts(x), model(x))


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("paths", [("second.shared",), ("first.shared", "first.again", "second.shared")])
def test_the_signature_of_a_shared_submodule(paths: tuple[str, ...], strict: bool) -> None:
    model, x = Shares(), torch.randn(2, 4)
    program = dynamo_lite.export(copy.deepcopy(model), (x,), preserve_module_call_signature=paths, strict=strict)
    torch.testing.assert_close(torch.export.unflatten(program)(x), model(x))


def test_a_second_name_in_the_same_module_is_refused_alone() -> None:
    with pytest.raises(errors.InvalidArguments, match=r"'first\.again' is the submodule 'first\.shared'"):
        dynamo_lite.export(Shares(), (torch.randn(2, 4),), preserve_module_call_signature=("first.again",))
