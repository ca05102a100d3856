"""A program's module is converted, switched, copied and pickled: as eager does it, or an error that says why not."""

from __future__ import annotations

import copy
import io
import pickle
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.export import Dim

import dynamo_lite

ROOT = Path(__file__).parents[2]
ROWS = Dim("rows", min=2, max=9)
X = torch.randn(3, 4)


class Model(nn.Module):
    """A tied parameter, both kinds of buffers, a plain tensor, a tensor that it makes."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.tied = nn.Linear(4, 4), nn.Linear(4, 4)
        self.tied.weight = self.layer.weight
        self.norm = nn.BatchNorm1d(4)
        self.register_buffer("shift", torch.randn(4), persistent=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.tied(self.norm(self.layer(x))) + self.shift


class WithConstants(Model):
    def __init__(self) -> None:
        super().__init__()
        self.plain = torch.randn(4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return super().forward(x) + self.plain + torch.ones(4) * torch.tensor([2.0])


class ReadsDtype(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x) * 2 if x.dtype == torch.float32 else self.layer(x)


class HasLiteral(ReadsDtype):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x).to(torch.float32)


class Regions(ReadsDtype):
    """The literal is in a sub-graph."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            y = self.layer(x).float()
        return y


CONVERSIONS: dict[str, Callable[[nn.Module], nn.Module]] = {
    "half": lambda m: m.half(),
    "double": lambda m: m.double(),
    "bfloat16": lambda m: m.bfloat16(),
    "to": lambda m: m.to(torch.float64),
    "twice": lambda m: m.half().double(),
}


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", CONVERSIONS)
@pytest.mark.parametrize("kind", [Model, WithConstants])
def test_a_converted_module_is_the_converted_model(kind: type[nn.Module], name: str, dynamic: bool) -> None:
    convert = CONVERSIONS[name]
    model = kind().eval()
    program = dynamo_lite.export(model, (X,), dynamic_shapes=({0: ROWS},) if dynamic else None)
    module = convert(program.module())
    eager = convert(copy.deepcopy(model))
    dtype = eager.layer.weight.dtype  # type: ignore[union-attr]
    x = (torch.cat([X, X]) if dynamic else X).to(dtype)
    got, want = module(x), eager(x)
    assert got.dtype == want.dtype and torch.equal(got, want)
    assert module.layer.weight is module.tied.weight
    assert {k: v.dtype for k, v in module.state_dict().items()} == {k: v.dtype for k, v in eager.state_dict().items()}
    # The model and the program keep theirs.
    assert {p.dtype for p in (*model.parameters(), *program.parameters())} == {torch.float32}
    assert torch.equal(program.module()(X), model(X))
    with pytest.raises(dynamo_lite.InputMismatch):
        module(torch.ones(3, 5, dtype=dtype))
    with pytest.raises(dynamo_lite.InputMismatch):
        module(X.int())


def test_a_conversion_to_the_same_is_none() -> None:
    module = dynamo_lite.export(HasLiteral(), (X,)).module()
    weight = module.layer.weight
    assert module.float().to("cpu") is module and module.layer.weight is weight


def saved(program: Any, save: Any) -> Any:
    file = io.BytesIO()
    save(program, file)
    file.seek(0)
    return dynamo_lite.load(file)


@pytest.mark.parametrize("kind", [ReadsDtype, HasLiteral, Regions])
@pytest.mark.parametrize("dtype", [torch.float16, torch.float64])
def test_a_conversion_that_changes_the_program_exports_the_converted_model(
    kind: type[nn.Module], dtype: torch.dtype
) -> None:
    model = kind()
    program = dynamo_lite.export(model, (X,), dynamic_shapes=({0: ROWS},))
    module = program.module()
    with torch.no_grad():
        module.layer.bias.add_(1)  # the module's tensors are converted, not those of the model at its export
    converted, eager, x = module.to(dtype), copy.deepcopy(model).to(dtype), torch.cat([X, X]).to(dtype)
    assert converted is module
    got, want = module(x), eager(x)
    assert got.dtype == want.dtype and torch.equal(got, want)
    assert {p.dtype for p in (*model.parameters(), *program.parameters())} == {torch.float32}
    back = module.float()
    assert torch.equal(back(x.float()), copy.deepcopy(eager).float()(x.float()))


@pytest.mark.parametrize("kind", [ReadsDtype, HasLiteral, Regions])
def test_a_conversion_that_may_change_the_program_is_refused(kind: type[nn.Module]) -> None:
    program = saved(dynamo_lite.export(kind(), (X,)), dynamo_lite.save)  # without its model
    with pytest.raises(dynamo_lite.UnsupportedConversion, match=r"test_after_export\.py"):
        program.module().half()
    with pytest.raises(RuntimeError, match=r"model\.half\(\)"):
        program.module().to(torch.float64)
    as_torch = program.module(check_dtypes=False).half()
    assert as_torch.layer.weight.dtype == torch.float16
    if kind is ReadsDtype:
        assert as_torch(X.half()).dtype == torch.float16


def test_a_conversion_of_what_was_changed_since_is_refused() -> None:
    model = ReadsDtype()
    edited = dynamo_lite.export(model, (X,))
    linear = next(node for node in edited.graph.nodes if node.target is torch.ops.aten.linear.default)
    with edited.graph.inserting_after(linear):
        edited.graph.call_function(torch.ops.aten.relu.default, (linear,))
    with pytest.raises(dynamo_lite.UnsupportedConversion, match="graph of the program has been changed"):
        edited.module().half()
    program = dynamo_lite.export(model, (X,))
    model.layer.bias = None
    with pytest.raises(dynamo_lite.UnsupportedConversion, match="not as it was"):
        program.module().half()


class KeepsFloat(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(4))

    def _apply(self, fn: Any, recurse: bool = True) -> Any:
        return self

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.weight


def test_a_part_that_is_not_converted_in_eager_is_not_converted() -> None:
    model = nn.Sequential(KeepsFloat())
    module = dynamo_lite.export(model, (X,)).module().half()
    got, want = module(X.half()), copy.deepcopy(model).half()(X.half())
    assert got.dtype == want.dtype == torch.float32 and torch.equal(got, want)
    assert {p.dtype for p in module.parameters()} == {torch.float32}


def test_a_device_in_the_graph_is_named() -> None:
    class Makes(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.layer(x) + torch.ones(4, device=x.device)

    program = dynamo_lite.export(Makes(), (X,))
    with pytest.raises(dynamo_lite.UnsupportedConversion, match="move_to_device_pass"):
        saved(program, dynamo_lite.save).module().to("meta")
    assert program.module().to("meta")(X.to("meta")).device.type == "meta"
    module = dynamo_lite.export(Model().eval(), (X,)).module().to("meta")
    assert module(X.to("meta")).device.type == "meta"


def test_what_the_program_has_asked_is_saved_with_it() -> None:
    assert saved(dynamo_lite.export(Model().eval(), (X,)), dynamo_lite.save).module().half()(X.half()).shape == X.shape
    for save in (dynamo_lite.save, torch.export.save):
        with pytest.raises(dynamo_lite.UnsupportedConversion):
            saved(dynamo_lite.export(ReadsDtype(), (X,)), save).module().half()
    extra = {"note.txt": "kept"}
    file = io.BytesIO()
    dynamo_lite.save(dynamo_lite.export(Model().eval(), (X,)), file, extra_files=extra)
    file.seek(0)
    found = {"note.txt": ""}
    dynamo_lite.load(file, extra_files=found)
    assert found == extra


class Fixed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x)


def test_train_and_eval_of_a_program_without_a_mode_do_nothing() -> None:
    module = dynamo_lite.export(Fixed(), (X,)).module()
    want = module(X)
    for switched in (
        module.train(),
        module.eval(),
        saved(dynamo_lite.export(Fixed(), (X,)), dynamo_lite.save).module(),
    ):
        assert switched(X).shape == want.shape
    assert torch.equal(module.eval()(X), want) and not module.training


@dataclass
class Box:
    value: torch.Tensor
    name: str


class Boxed(Fixed):
    def forward(self, box: Box) -> Box:
        return Box(self.layer(box.value), box.name)


@pytest.mark.parametrize("dynamic", [False, True])
def test_a_program_is_pickled_and_copied(dynamic: bool) -> None:
    model = Model().eval()
    program = dynamo_lite.export(model, (X,), dynamic_shapes=({0: ROWS},) if dynamic else None)
    x = torch.cat([X, X]) if dynamic else X
    for other in (pickle.loads(pickle.dumps(program)), copy.deepcopy(program), copy.copy(program)):
        assert torch.equal(other.module()(x), model(x))
        assert other._guards_code == program._guards_code and other.questions == program.questions
        with pytest.raises(dynamo_lite.InputMismatch):
            other.module()(x.double())


def test_a_module_is_pickled_and_copied_as_it_is() -> None:
    model = Model().eval()
    module = dynamo_lite.export(model, (X,), dynamic_shapes=({0: ROWS},)).module()
    with torch.no_grad():
        module.layer.bias.add_(1)
    converted = copy.deepcopy(module).double()
    for form in (lambda m: pickle.loads(pickle.dumps(m)), copy.deepcopy):
        other = form(module)
        assert torch.equal(other(torch.cat([X, X])), module(torch.cat([X, X])))
        assert other.layer.weight is other.tied.weight
        assert isinstance(other.layer.weight, nn.Parameter) and other.layer.weight.requires_grad
        assert torch.equal(form(converted)(X.double()), converted(X.double()))
    with pytest.raises(dynamo_lite.InputMismatch):
        pickle.loads(pickle.dumps(module))(torch.randn(20, 4))


def test_a_copy_whose_graph_was_changed_is_torch_s_business() -> None:
    module = copy.deepcopy(dynamo_lite.export(HasLiteral(), (X,)).module())
    for node in list(module.graph.nodes):
        if node.target is torch.ops.aten.to.dtype:
            node.replace_all_uses_with(node.args[0])
            module.graph.erase_node(node)
    module.recompile()
    assert module.half().layer.weight.dtype == torch.float16


def test_a_program_with_containers_is_unpickled_in_another_process(tmp_path: Path) -> None:
    box = Box(X, "b")
    model = Boxed()
    program = dynamo_lite.export(model, (box,))
    (tmp_path / "boxes.py").write_text("")
    (tmp_path / "program.pkl").write_bytes(pickle.dumps((program, X, model(box).value)))
    code = (
        "import pickle, torch; from tests.export.test_after_export import Box; "
        f"p, x, want = pickle.load(open({str(tmp_path / 'program.pkl')!r}, 'rb')); "
        "got = p.module()(Box(x, 'b')); assert torch.equal(got.value, want) and got.name == 'b'"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_trace_is_copied_as_itself() -> None:
    trace = dynamo_lite.trace(Fixed(), (X,))
    assert copy.deepcopy(trace) is trace and copy.deepcopy(trace.program).trace is trace


def test_a_function_without_a_module_can_be_saved() -> None:
    """`torch.Tensor(t)` is a class's `__new__` written in C, whose `__module__` is None: torch saves no such source."""

    def program(x: torch.Tensor) -> torch.Tensor:
        return torch.Tensor(x * 2) + 1

    file = io.BytesIO()
    torch.export.save(dynamo_lite.export(program, (X,)), file)
    file.seek(0)
    torch.testing.assert_close(torch.export.load(file).module()(X), program(X))
