"""The recorder's own promises: what reaches the program, what is refused, and what an operator leaves behind."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode

from dynamo_lite.capture import CaptureError, Recorder, UnknownTensor
from tests.capture.modules import Function
from tests.capture.native import export_natively


def record(fn: Any, *inputs: torch.Tensor) -> Recorder:
    recorder = Recorder(None, [f"x{i}" for i in range(len(inputs))])
    fakes = recorder.bind_inputs(inputs)
    with recorder:
        fn(*fakes)
    return recorder


def targets(recorder: Recorder) -> list[str]:
    return [str(node.target) for node in recorder.graph.nodes if node.op == "call_function"]


def test_an_operators_error_is_the_programs_and_leaves_no_node() -> None:
    def program(x: torch.Tensor) -> None:
        with pytest.raises(RuntimeError, match="mat1 and mat2 shapes cannot be multiplied"):
            x @ torch.ones(7, 7)
        x.add(1)

    assert targets(record(program, torch.ones(2, 3))) == ["aten.ones.default", "aten.add.Tensor"]


def test_what_only_run_time_knows_is_a_symbol() -> None:
    def program(x: torch.Tensor) -> None:
        assert isinstance(x.item(), torch.SymFloat)
        rows, rank = x.reshape(1).nonzero().shape
        assert isinstance(rows, torch.SymInt) and rank == 1

    recorder = record(program, torch.ones(()))
    made = [node for node in recorder.graph.nodes if node.meta.get("unbacked_bindings")]
    assert [node.target for node in made] == [torch.ops.aten.item.default, torch.ops.aten.nonzero.default]


def test_a_branch_on_data_is_no_error_of_the_program() -> None:
    with pytest.raises(CaptureError) as caught:
        record(lambda x: bool(x > 0), torch.ones(()))
    assert caught.value.id == "data-dependent-question"


def test_generators_are_refused() -> None:
    generator = torch.Generator()
    with pytest.raises(CaptureError) as caught:
        record(lambda x: x + torch.randn(2, generator=generator), torch.ones(2))
    assert caught.value.id == "generator-argument"


def test_an_operator_without_a_fake_kernel_is_refused() -> None:
    with torch.library._scoped_library("dynamo_lite_test", "DEF") as library:
        library.define("opaque(Tensor x) -> Tensor")
        library.impl("opaque", lambda x: x, "CPU")
        with pytest.raises(CaptureError) as caught:
            record(lambda x: torch.ops.dynamo_lite_test.opaque(x), torch.ones(2))
    assert caught.value.id == "no-meta-kernel"
    assert caught.value.names["operator"] == "dynamo_lite_test.opaque.default"


def test_our_own_errors_go_through_the_context() -> None:
    class Seen(BaseException):
        pass

    recorder = Recorder(None, ["x"])
    (x,) = recorder.bind_inputs([torch.ones(2)])
    errors: list[CaptureError] = []

    def refuse(error: CaptureError) -> Any:
        errors.append(error)
        raise Seen

    recorder.context.refuse = refuse  # type: ignore[method-assign]
    recorder.context.module_stack = lambda: 1 / 0  # type: ignore[method-assign,assignment,return-value]
    with recorder, pytest.raises(Seen):
        x + 1
    assert errors[0].id == "internal"
    assert "ZeroDivisionError" in errors[0].what


def test_a_tensor_of_an_earlier_recording_is_refused() -> None:
    kept: list[torch.Tensor] = []
    record(lambda x: kept.append(x + 1), torch.ones(2))
    with pytest.raises(UnknownTensor) as caught:
        record(lambda x: x + kept[0], torch.ones(2))
    assert caught.value.id == "foreign-tensor"


def test_a_fake_tensor_that_nothing_recorded_made_is_refused() -> None:
    mode = FakeTensorMode()
    hidden = mode.from_tensor(torch.ones(2))
    recorder = Recorder(None, ["x"], fake_mode=mode)
    (x,) = recorder.bind_inputs([torch.ones(2)])
    with recorder, pytest.raises(UnknownTensor) as caught:
        x + hidden
    assert caught.value.id == "unknown-tensor"
    recorder.alias(hidden, x)
    with recorder:
        x + hidden
    assert list(recorder.graph.nodes)[-1].args == (recorder.input_nodes[0],) * 2


@pytest.mark.parametrize(
    "mutate", [lambda c: c.add_(1), lambda c: c[0].zero_(), lambda c: torch.add(c, 1, out=c), lambda c: c.data.mul_(2)]
)
def test_a_constant_from_outside_may_not_be_changed(mutate: Any) -> None:
    constant = torch.ones(2, 2)

    def program(x: torch.Tensor) -> None:
        x + constant
        mutate(constant)

    with pytest.raises(CaptureError) as caught:
        record(program, torch.ones(2))
    assert caught.value.id == "constant-mutated"
    assert constant.eq(1).all()


def test_a_literal_may_be_changed() -> None:
    module = Function(lambda x: x + torch.tensor([1.0, 2.0]).add_(1).mul_(x))
    x = torch.randn(2)
    exported = export_natively(module, (x,)).module()
    for _ in range(2):
        torch.testing.assert_close(exported(x), module(x))


def test_item_of_a_literal_is_a_number_until_it_changes() -> None:
    def program(x: torch.Tensor) -> None:
        literal = torch.tensor(2)
        assert literal.item() == 2
        assert (literal + 1).item() == 3
        literal.add_(x)
        assert isinstance(literal.item(), torch.SymInt)

    record(program, torch.tensor(1))


def test_data_shares_memory_and_may_be_assigned_on_tensors_of_the_program() -> None:
    def forward(x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        y.data.add_(1)
        z = y.clone()
        z.data = y.data * 3
        return y + z

    x = torch.randn(3)
    torch.testing.assert_close(export_natively(Function(forward), (x,)).module()(x), forward(x))
    with pytest.raises(CaptureError) as caught:
        record(lambda x: setattr(x, "data", x * 2), x)
    assert caught.value.id == "tensor-data-assigned"


def test_deep_copies_are_clones() -> None:
    def forward(x: torch.Tensor) -> torch.Tensor:
        y = copy.deepcopy(x)
        y.add_(1)
        return x * y

    x = torch.randn(3)
    torch.testing.assert_close(export_natively(Function(forward), (x,)).module()(x), forward(x))

    def of_a_result(x: torch.Tensor) -> None:
        with pytest.raises(RuntimeError, match="graph leaves"):
            copy.deepcopy(x * 2)

    record(of_a_result, torch.ones(2, requires_grad=True))


def test_is_input_means_the_object_itself() -> None:
    recorder = Recorder(nn.Linear(2, 2), ["x"])
    (x,) = recorder.bind_inputs([torch.ones(2)])
    with recorder:
        view, changed = x[:], x.add_(1)
    assert recorder.is_input(x) and recorder.is_input(changed) and recorder.is_input(recorder.lifted[0].fake)
    assert not recorder.is_input(view)
    assert (recorder.input_number(changed), recorder.input_number(view)) == (0, None)
    assert recorder.input_number(recorder.lifted[0].fake) is None


def test_grad_mode_and_modes_are_restored_after_an_error() -> None:
    recorder = Recorder(None, ["x"])
    (x,) = recorder.bind_inputs([torch.ones(2)])
    with pytest.raises(KeyError), recorder:
        torch._C._set_grad_enabled(False)
        {}[str(x + 1)]
    assert torch.is_grad_enabled()
    assert type(torch.ones(1)) is torch.Tensor


def test_user_names_win_over_lifted_names_and_operator_names() -> None:
    class Clash(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a = nn.Module()
            self.a.b = nn.Parameter(torch.ones(2))
            self.a_b = nn.Parameter(torch.ones(2))

        def forward(self, p_a_b: torch.Tensor, add: torch.Tensor, input: torch.Tensor) -> torch.Tensor:
            return p_a_b + add + input + self.a_b + self.a.b

    x = torch.randn(2)
    program = export_natively(Clash(), (x, x, x))
    names = [spec.arg.name for spec in program.graph_signature.input_specs]
    assert names == ["p_a_b_1", "p_a_b_2", "p_a_b", "add", "input"]
    assert len({node.name for node in program.graph.nodes}) == len(program.graph.nodes)
    torch.testing.assert_close(program.module()(x, x, x), 3 * x + 2)


def test_every_node_has_what_consumers_read() -> None:
    program = export_natively(nn.Sequential(nn.Linear(2, 2), nn.Dropout()), (torch.ones(2),))
    for node in program.graph.nodes:
        if node.op == "call_function":
            assert {"val", "nn_module_stack", "torch_fn", "stack_trace", "tensor_meta"} <= node.meta.keys()
            assert not node.meta["val"].requires_grad and node.meta["val"].grad_fn is None
    linear = next(node for node in program.graph.nodes if node.target is torch.ops.aten.linear.default)
    assert list(linear.meta["nn_module_stack"].values())[-1] == ("0", "torch.nn.modules.linear.Linear")
    assert linear.meta["torch_fn"] == ("linear_1", "builtin_function_or_method.linear")
