"""What works after the export: everything that torch offers for an ExportedProgram."""

from __future__ import annotations

import copy
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.export.graph_signature import OutputKind
from torch.utils import _pytree as pytree

from dynamo_lite.capture import CaptureError
from dynamo_lite.errors import InvalidArguments
from dynamo_lite.program import InputMismatch, Program
from tests.capture.modules import CASES, Function
from tests.capture.native import export_natively
from tests.capture.test_parity import assert_same

TORCH_CANNOT_SAVE = {
    "nested_inputs_and_outputs",  # torch's deserializer knows no string among the outputs
    "cumsum_topk_sort",  # torch.return_types have no serialized name
}
SMALL = ["conv_bn_train", "no_grad_buffer_update", "regions", "tied_weights", "nested_inputs_and_outputs", "lstm"]


def exported(name: str) -> tuple[Program, nn.Module, Any, Any]:
    module, args, kwargs = CASES[name]()
    program = export_natively(module, copy.deepcopy(args), kwargs)
    assert isinstance(program, Program)
    return program, copy.deepcopy(module), args, kwargs


@pytest.mark.parametrize("name", [name for name in CASES if name not in TORCH_CANNOT_SAVE])
def test_survives_saving_and_loading(name: str, tmp_path: Path) -> None:
    program, eager, args, kwargs = exported(name)
    torch.export.save(program, tmp_path / "p.pt2")
    loaded = torch.export.load(tmp_path / "p.pt2")
    theirs = copy.deepcopy((args, kwargs))
    assert_same(loaded.module()(*args, **kwargs), eager(*theirs[0], **theirs[1]))


@pytest.mark.parametrize("name", CASES)
def test_decomposes(name: str) -> None:
    program, eager, args, kwargs = exported(name)
    decomposed = program.run_decompositions()
    theirs = copy.deepcopy((args, kwargs))
    ours, expected = decomposed.module()(*args, **kwargs), eager(*theirs[0], **theirs[1])
    for got, want in zip(torch.utils._pytree.tree_leaves(ours), torch.utils._pytree.tree_leaves(expected)):
        if isinstance(want, torch.Tensor):
            torch.testing.assert_close(got, want, rtol=2e-2 if want.dtype is torch.bfloat16 else 1e-4, atol=1e-5)
    for got, want in zip(args, theirs[0]):
        assert_same(got, want)


def test_decomposition_names_the_mutated_buffer() -> None:
    program, *_ = exported("no_grad_buffer_update")
    outputs = program.run_decompositions().graph_signature.output_specs
    assert [(o.kind, o.target) for o in outputs if o.kind is OutputKind.BUFFER_MUTATION] == [
        (OutputKind.BUFFER_MUTATION, "mean")
    ]


def test_a_custom_table_decomposes() -> None:
    program, eager, args, _ = exported("mlp")
    table = torch.export.default_decompositions()
    table[torch.ops.aten.relu.default] = lambda x: x.clamp(min=0)
    decomposed = program.run_decompositions(table)
    assert torch.ops.aten.relu.default not in [node.target for node in decomposed.graph.nodes]
    torch.testing.assert_close(decomposed.module()(*args), eager(*args))


@pytest.mark.parametrize("name", SMALL)
def test_compiles(name: str) -> None:
    program, eager, args, kwargs = exported(name)
    theirs = copy.deepcopy((args, kwargs))
    torch._dynamo.reset()  # what other tests compiled counts against its limit of recompilations
    compiled = torch.compile(program.module(), backend="eager", fullgraph=True)
    assert_same(compiled(*args, **kwargs), eager(*theirs[0], **theirs[1]))


@pytest.mark.parametrize("name", ["conv_bn_eval", "transformer_encoder_layer", "tied_weights", "buffers"])
def test_unflattens_into_its_modules(name: str) -> None:
    program, eager, args, kwargs = exported(name)
    unflattened = torch.export.unflatten(program)
    assert_same(unflattened(*args, **kwargs), eager(*args, **kwargs))
    assert {n for n, m in eager.named_modules() if list(m.parameters(recurse=False))} <= dict(
        unflattened.named_modules()
    ).keys()


def test_deep_copies() -> None:
    program, eager, args, _ = exported("conv_bn_train")
    torch.testing.assert_close(copy.deepcopy(program).module()(*args), eager(*args))


@pytest.mark.skipif(shutil.which("g++") is None, reason="AOTInductor needs a C++ compiler")
def test_becomes_an_aot_inductor_package(tmp_path: Path) -> None:
    program, eager, args, _ = exported("mlp")
    path = torch._inductor.aoti_compile_and_package(program, package_path=str(tmp_path / "m.pt2"))
    torch.testing.assert_close(torch._inductor.aoti_load_package(path)(*args), eager(*args))


def test_can_be_exported_again() -> None:
    program, eager, args, _ = exported("conv_bn_eval")
    again = torch.export.export(program.module(), args, strict=False)
    torch.testing.assert_close(again.module()(*args), eager(*args))


# --- inputs that do not fit -------------------------------------------------------------------------------------------


def call(x: Any = None, a: Any = None, b: Any = None, k: Any = 2, **kwargs: Any) -> tuple[Any, dict[str, Any]]:
    """The arguments that `nested_inputs_and_outputs` was exported with, but for the given ones."""
    one = torch.ones(3) if x is None else x
    two = {"a": [torch.ones(3), None] if a is None else a, "b": torch.ones(2) if b is None else b}
    return (one, two, k), {"flag": "b", **kwargs}


MISFITS: list[tuple[tuple[Any, dict[str, Any]], str]] = [
    (call(x=torch.ones(4)), r"x: expected .*\[3\].*given .*\[4\]"),
    (call(x=torch.ones(3).double()), "x: .*float32, given .*float64"),
    (call(x=3), "x: expected a tensor of .*, given the int 3"),
    (call(b=torch.ones(5)), r"d\['b'\]: .*\[2\].*\[5\]"),
    (call(a=[torch.ones(3), 1]), r"d\['a'\]\[1\]: .*None, given the int 1"),
    (call(a=[torch.ones(3)]), r"d\['a'\]: .*2 parts.*given one with 1"),
    (call(a=(torch.ones(3), None)), r"d\['a'\]: expected a list, given a tuple"),
    (
        ((torch.ones(3), {"b": torch.ones(2)}, 2), {"flag": "b"}),
        "d: expected a dict with 2 parts.*given one with 1 parts",
    ),
    (call(k=3), "k: expected the constant 2, given the int 3"),
    (call(k=2.0), "k: expected the constant 2, given the float 2.0"),
    (call(flag="c"), "flag: expected the constant 'b', given the str 'c'"),
    ((call()[0], {}), r"keyword arguments \['flag'\]; \[\] were given"),
    ((call()[0][:2], {"flag": "b"}), "3 positional arguments .x, d, k.; 2 were given"),
]


@pytest.mark.parametrize(("arguments", "message"), MISFITS)
def test_says_what_was_expected_and_what_was_given(arguments: Any, message: str) -> None:
    program, *_ = exported("nested_inputs_and_outputs")
    for candidate in (program, copy.deepcopy(program), program.run_decompositions()):
        with pytest.raises(InputMismatch, match=message):
            candidate.module()(*arguments[0], **arguments[1])


@pytest.mark.parametrize("wrong", [torch.ones(3, 5), torch.ones(3, 4, dtype=torch.float64), torch.ones(3, 4, 1)])
def test_a_loaded_program_still_rejects(wrong: torch.Tensor, tmp_path: Path) -> None:
    program, *_ = exported("mlp")
    torch.export.save(program, tmp_path / "p.pt2")
    with pytest.raises((AssertionError, RuntimeError, ValueError)):
        torch.export.load(tmp_path / "p.pt2").module()(wrong)


def test_a_compiled_program_still_rejects() -> None:
    program, *_ = exported("mlp")
    torch._dynamo.reset()
    compiled = torch.compile(program.module(), backend="eager")
    with pytest.raises((AssertionError, RuntimeError)):
        compiled(torch.ones(7, 4))


# --- state ------------------------------------------------------------------------------------------------------------


def test_a_shared_parameter_is_an_input_per_name_of_which_one_is_used() -> None:
    program, *_ = exported("tied_weights")
    parameters = [spec.target for spec in program.graph_signature.input_specs if spec.target]
    assert parameters == ["embed.weight", "head.weight"]
    assert [bool(node.users) for node in program.graph.nodes if node.op == "placeholder"][:2] == [True, False]
    assert program.state_dict["embed.weight"] is program.state_dict["head.weight"]


def test_the_users_tensors_are_used_not_copied() -> None:
    module = nn.Linear(4, 4)
    program = export_natively(module, (torch.randn(2, 4),))
    assert program.state_dict["weight"] is module.weight
    assert type(module.weight) is nn.Parameter


def test_an_assigned_buffer_is_copied_at_the_end() -> None:
    class Counter(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("seen", torch.zeros(()))
            self.new: torch.Tensor | None = None

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.new = self.seen + x.sum()
            return x * self.new

    x = torch.ones(2)
    program = export_natively(Counter(), (x,), buffer_updates=lambda module: {"seen": module.new})
    module = program.module()
    assert [module(x).tolist() for _ in range(2)] == [[2.0, 2.0], [4.0, 4.0]]
    assert module.seen == 4


class Swap(nn.Module):
    """Assigns buffers to each other and returns what they were: `update` is what a tracer would report."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("a", torch.tensor([1.0, 2.0]))
        self.register_buffer("b", torch.tensor([3.0, 4.0]))
        self.update: dict[str, torch.Tensor] = {}

    def forward(self, x: torch.Tensor) -> Any:
        self.update = {"a": self.b.flip(0)[:], "b": self.a}
        return self.a, self.b[1:], x + self.a


def test_buffers_that_swap_are_cloned_before_the_first_copy() -> None:
    module = export_natively(Swap(), (torch.zeros(2),), buffer_updates=lambda swap: swap.update).module()
    first, second = (pytree.tree_map(torch.Tensor.tolist, list(module(torch.zeros(2)))) for _ in range(2))
    assert first == [[1, 2], [4], [1, 2]]
    assert second == [[4, 3], [2], [4, 3]]
    assert (module.a.tolist(), module.b.tolist()) == ([2, 1], [4, 3])


def test_a_buffer_under_two_names_may_not_be_assigned() -> None:
    module = Swap()
    module.b = module.a
    with pytest.raises(CaptureError, match="several names: a, b"):
        export_natively(module, (torch.zeros(2),), buffer_updates=lambda swap: {"b": swap.update["a"]})


@pytest.mark.parametrize("learns", [True, False])
def test_parameters_of_unregistered_modules(learns: bool, tmp_path: Path) -> None:
    hidden = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2).eval()).requires_grad_(learns)
    module = Function(lambda x: hidden(x))
    x = torch.randn(3, 2)
    program = export_natively(module, (x,))
    torch.export.save(program, tmp_path / "p.pt2")
    for candidate in (program, program.run_decompositions(), torch.export.load(tmp_path / "p.pt2")):
        out = candidate.module()(x)
        torch.testing.assert_close(out, hidden(x))
        assert out.requires_grad == learns


def test_arguments_may_have_the_names_of_generated_code() -> None:
    class Names(nn.Module):
        def forward(this, x: torch.Tensor, device: Any, self: torch.Tensor, inf: Any = None) -> torch.Tensor:
            return x + torch.ones(2, device=device) + self

    x = torch.ones(2)
    arguments = (x, torch.device("cpu"), x, None)
    program = export_natively(Names(), arguments)
    assert program.module()(*arguments).tolist() == [3, 3]
    with pytest.raises(InputMismatch, match="device_1: expected the constant"):
        program.module()(x, torch.device("meta"), x, None)


def test_lazy_modules_have_to_be_called_first() -> None:
    with pytest.raises(InvalidArguments, match="weight has no shape yet"):
        export_natively(nn.LazyLinear(2), (torch.ones(2),))


def test_the_same_tensor_twice_is_two_inputs() -> None:
    x = torch.ones(2)
    module = export_natively(Function(lambda a, b: a * 2 + b), (x, x)).module()
    assert module(torch.ones(2), torch.zeros(2)).tolist() == [2.0, 2.0]


def test_a_parameter_given_as_input_is_an_input() -> None:
    linear = nn.Linear(2, 2, bias=False)
    module = export_natively(linear, (linear.weight,)).module()
    x = torch.randn(2, 2)
    torch.testing.assert_close(module(x.requires_grad_()), linear(x))


def test_meta_modules_export_without_data() -> None:
    with torch.device("meta"):
        module, x = nn.Sequential(nn.Linear(100_000, 100_000), nn.ReLU()), torch.empty(2, 100_000)
    program = export_natively(module, (x,))
    assert [n.target for n in program.graph.nodes if n.op == "call_function"] == [
        torch.ops.aten.linear.default,
        torch.ops.aten.relu.default,
    ]
    assert all(t.device.type == "meta" for t in program.state_dict.values())


def test_modules_under_the_users_fake_mode_export_in_that_mode() -> None:
    mode = FakeTensorMode()
    with mode:
        module, x = nn.Sequential(nn.Linear(100_000, 100_000), nn.BatchNorm1d(100_000)), torch.empty(2, 100_000)
    program = export_natively(module, (x,), fake_mode=mode)
    assert all(isinstance(t, FakeTensor) and t.fake_mode is mode for t in program.state_dict.values())
    assert program.graph_signature.user_outputs == ("batch_norm",)
