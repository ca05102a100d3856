"""TorchScript inside of a program: modules (scripted, traced, loaded) and functions (scripted, traced).

Their operators are recorded, their effects refused.
"""

from __future__ import annotations

import copy
import io
import subprocess
import sys
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import dynamo_lite
from dynamo_lite.errors import DataDependent, UnsupportedCall

X = torch.linspace(-1, 1, 12).reshape(3, 4)


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer, self.norm = nn.Linear(4, 4), nn.BatchNorm1d(4)
        self.rounds, self.table = 3, [1.0]

    def forward(self, x: Tensor, shift: bool = False, scale: float = 2.0) -> Tensor:
        parts = []
        y = self.norm(self.layer(x)) * scale
        if shift:
            y = y + 1
        for _ in range(self.rounds):
            y = y + self.table[0]
            parts.append(y)
        parts[0] = parts[0] * 2
        return torch.cat(parts)

    @torch.jit.export
    def other(self, x: Tensor) -> Tensor:
        return self.forward(x, True, 2.0).sin()


class Around(nn.Module):
    def __init__(self, inner: Any) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: Tensor) -> Any:
        return self.inner(x), self.inner(x, scale=0.5, shift=True)


class CallsAnother(Around):
    """A method that is not called through the module. (With strict=False torch calls Python code in its place.)"""

    def forward(self, x: Tensor) -> Any:
        return self.inner.other(x)


def _scripted(module: nn.Module, kind: str) -> Any:
    script: Any = torch.jit.script(module)
    if kind == "loaded":
        file = io.BytesIO()
        torch.jit.save(script, file)
        file.seek(0)
        script = torch.jit.load(file)
    return script


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("train", [True, False])
@pytest.mark.parametrize("kind", ["scripted", "loaded"])
def test_as_in_eager(kind: str, train: bool, strict: bool) -> None:
    model = Around(_scripted(Block(), kind)).train(train)
    program = dynamo_lite.export(model, (X,), strict=strict)
    run, eager = program.module(), copy.deepcopy(model)
    for x in (X, X * 3):
        torch.testing.assert_close(run(x), eager(x))
    torch.testing.assert_close(dict(run.named_buffers()), dict(eager.named_buffers()))
    assert any("ScriptModule" in note for note in program.trace.notes)


@pytest.mark.parametrize("kind", ["scripted", "loaded"])
def test_another_method(kind: str) -> None:
    model = CallsAnother(_scripted(Block(), kind)).eval()
    torch.testing.assert_close(dynamo_lite.export(model, (X,)).module()(X), model(X))


@pytest.mark.parametrize("strict", [True, False])
def test_what_the_executor_has_optimised_changes_nothing(strict: bool) -> None:
    """After some calls TorchScript differentiates a method itself; recorded, its outputs would have no gradient."""
    model = Around(_scripted(Block(), "scripted"))
    names = [[node.name for node in dynamo_lite.export(model, (X,), strict=strict).graph.nodes]]
    for _ in range(4):
        model(X)[0].sum().backward()
    program = dynamo_lite.export(model, (X,), strict=strict)
    assert [*names, [node.name for node in program.graph.nodes]] == names * 2
    run, weight = program.module(), model.inner.layer.weight
    weight.grad = None
    run(X)[1].sum().backward()
    found = dict(run.named_parameters())["inner.layer.weight"].grad
    model(X)[1].sum().backward()
    torch.testing.assert_close(found, weight.grad)


@pytest.mark.parametrize("strict", [True, False])
def test_a_traced_module(strict: bool) -> None:
    model = _Call(torch.jit.trace(nn.Sequential(nn.Linear(4, 4), nn.ReLU()), X))
    torch.testing.assert_close(dynamo_lite.export(model, (X,), strict=strict).module()(X), model(X))


def test_the_mode_that_a_compiled_method_reads() -> None:
    """Nothing of the program says that it read `training`: the other mode is exported, not taken for the same."""
    model = _Call(_scripted(nn.Sequential(nn.BatchNorm1d(4)), "scripted")).eval()
    run = dynamo_lite.export(model, (X,)).module()
    torch.testing.assert_close(run(X), model(X))
    run.train()
    torch.testing.assert_close(run(X), copy.deepcopy(model).train()(X))


class SetsAttribute(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        return x + self.calls


class ChangesList(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.seen = [1]

    def forward(self, x: Tensor) -> Tensor:
        self.seen.append(2)
        return x + len(self.seen)


class AddsToList(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.seen = [1]

    def forward(self, x: Tensor) -> Tensor:
        seen = self.seen
        seen += [2]
        return x + len(self.seen)


class ChangesItem(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.seen = [[1], [2]]

    def forward(self, x: Tensor) -> Tensor:
        for _ in range(2):
            self.seen[0].append(2)
        return x + len(self.seen[0])


class ChangesPart(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.pair = ([1], 2)

    def forward(self, x: Tensor) -> Tensor:
        seen, n = self.pair
        if n > 1:
            seen.append(n)
        return x + len(seen)


class Prints(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        print("called")
        return x + 1


class OfData(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if bool(x.sum() > 0):
            return x + 1
        return x


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("kind", ["scripted", "loaded"])
@pytest.mark.parametrize("module", [SetsAttribute, ChangesList, AddsToList, ChangesItem, ChangesPart, Prints])
def test_effects_are_refused(module: Any, kind: str, strict: bool, capsys: pytest.CaptureFixture[str]) -> None:
    script = _scripted(module(), kind)
    with pytest.raises(UnsupportedCall, match="script-module"):
        dynamo_lite.export(_Call(script), (X,), strict=strict)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("strict", [True, False])
def test_a_branch_on_data_is_refused(strict: bool) -> None:
    with pytest.raises(DataDependent):
        dynamo_lite.export(_Call(_scripted(OfData(), "scripted")), (X,), strict=strict)


class _Call(nn.Module):
    def __init__(self, inner: Any) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: Tensor) -> Any:
        return self.inner(x)


@torch.jit.script
def asks_whether_scripted(x: Tensor, scale: int = 3, kind: str = "a") -> Tensor:
    if torch.jit.is_scripting():
        x = x.cos()
    else:
        x = x.sin()
    return x * scale if kind == "a" else x + scale


@torch.jit.script
def calls_another(x: Tensor) -> Tensor:
    return asks_whether_scripted(x, kind="b") + x.view(x.size(1), x.shape[0]).sum(0)[0]


@torch.jit.script
def appends(x: Tensor, parts: list[Tensor]) -> Tensor:
    parts.append(x * 2)
    return parts[0] + parts[-1]


@torch.jit.script
def prints(x: Tensor) -> Tensor:
    print("called")
    return x + 1


def _branches(x: Tensor) -> Tensor:
    return x + 1 if x.sum() > 0 else x - 1


traced_branch = torch.jit.trace(_branches, (torch.ones(3, 4),), check_trace=False)
traced_size = torch.jit.trace(lambda x: x * x.shape[0] + int(x.shape[1]), (torch.ones(3, 4),), check_trace=False)


def _outer_list(x: Tensor) -> Any:
    parts = [x]
    return appends(x, parts), len(parts)


FUNCTIONS = {
    "scripted": lambda x: asks_whether_scripted(x),
    "keywords": lambda x: asks_whether_scripted(scale=2, x=x) - asks_whether_scripted(x, kind="b"),
    "nested": lambda x: calls_another(x),
    "list": _outer_list,
    "traced branch": lambda x: traced_branch(x),
    "traced size": lambda x: traced_size(x),
}


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_what_eager_runs(name: str, dynamic: bool) -> None:
    """The compiled function, in which is_scripting() is true and which changes copies of lists."""
    function = FUNCTIONS[name]
    shapes = ({0: torch.export.Dim.AUTO},) if dynamic else None
    program = dynamo_lite.export(function, (X,), dynamic_shapes=shapes)
    inputs = [X, -X, X * 3] + [torch.ones(5, 4)] * (dynamic and not name.startswith("traced"))
    for x in inputs:
        torch.testing.assert_close(program.module()(x), function(x))


def test_a_function_with_sizes_that_vary_is_noted() -> None:
    shapes = ({0: torch.export.Dim("n")},)
    program = dynamo_lite.export(FUNCTIONS["scripted"], (X,), dynamic_shapes=shapes)
    assert any("asks_whether_scripted() is given sizes that vary" in note for note in program.trace.notes)
    assert not torch.jit.is_scripting()


def test_a_function_that_prints_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UnsupportedCall, match=r"script-module.*prints\(\)"):
        dynamo_lite.export(lambda x: prints(x), (X,))
    assert capsys.readouterr().out == ""


def test_wrong_arguments_of_a_function() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'q'"):
        dynamo_lite.export(lambda x: asks_whether_scripted(x, q=3), (X,))


def test_gradients_through_a_function() -> None:
    weight = nn.Parameter(torch.linspace(-1, 1, 4))
    run = dynamo_lite.export(lambda x: calls_another(x * weight).sum(), (X,)).module()
    (own,) = run.parameters()
    run(X).backward()
    found = own.grad
    weight.grad = None
    calls_another(X * weight).sum().backward()
    torch.testing.assert_close(found, weight.grad)


def test_a_method_of_an_object_in_cpp_is_refused() -> None:
    """It ran on stand-ins: "INTERNAL ASSERT FAILED, please report a bug to PyTorch"."""
    weight = torch.quantize_per_tensor(X, 0.02, 0, torch.qint8)
    packed = torch.ops.quantized.linear_prepack(weight, None)

    def unpacked(x: Tensor) -> Tensor:
        return x @ packed.unpack()[0].dequantize().T

    unpacked(X)
    with pytest.raises(UnsupportedCall, match=r"script-object.*LinearPackedParamsBase"):
        dynamo_lite.export(unpacked, (X,))
    with pytest.raises(UnsupportedCall, match=r"script-object.*LinearPackedParamsBase"):
        dynamo_lite.export(lambda x: torch.ops.quantized.linear_dynamic(x, packed), (X,))



TRACED = """
import torch, dynamo_lite
if COMPILED:  # TorchDynamo puts functions of its own in the place of these two
    torch.compile(lambda x: x + 1, backend="eager")(torch.ones(3))
layer = torch.nn.Linear(4, 4)
for program in (lambda x: torch.jit.trace(layer, x)(x), lambda x: torch.jit.trace_module(layer, {"forward": x})(x)):
    try:
        dynamo_lite.export(program, (torch.randn(3, 4),), strict=STRICT)
    except dynamo_lite.errors.UnsupportedCall as error:
        print(error.id)
"""


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("strict", [True, False])
def test_tracing_within_forward_is_refused(strict: bool, compiled: bool) -> None:
    """It was an error of ours: "capture itself failed"."""
    code = TRACED.replace("STRICT", str(strict)).replace("COMPILED", str(compiled))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["script-trace", "script-trace"], done.stderr
