"""Exported programs against torch.export(strict=True), operator for operator: one pass records what two passes do.

`benchmarks/node_parity.py` does the same for all the core models.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import dynamo_lite
from tests.models.registry import CORE, load
from tests.parity import operators

from .probe import Probe, all_probes

PROBES = (
    "data.float_of_a_tensor",
    "data.where_with_one_argument",
    "effects_aliases.outputs_are_views_of_one_tensor",
    "effects_aliases.view_taken_before_the_change",
    "inputs_outputs.nested_inputs",
    "inputs_outputs.variable_arguments",
    "language_classes.property_getter_and_setter",
    "language_classes.super_forms",
    "language_classes.not_implemented_falls_back",
    "language_functions.star_call_with_many_unpackings",
    "language_functions.generator_expression_consumed_by_c",
    "language_statements.lambda_and_conditional_expressions",
    "language_stdlib.itertools_of_all_kinds",
    "language_stdlib.lru_cache_of_python_values",
    "modules.module_list_and_dict",
    "modules.iterate_over_parameters_and_modules",
    "modules.spectral_norm_training",
    "modules.lstm",
    "modules_layers.embedding_bag_and_losses",
    "modules_layers.complex_numbers_and_fft",
    "modules_layers.multi_head_attention_fast_path",
    "state_buffers.buffer_augmented_assignment",
    "state_buffers_shared.exponential_moving_average_under_no_grad",
    "state_tensor_memo.mask_of_constants",
    "tensor_operators.unbind_split_and_change_parts",
    "tensor_operators.literal_tensor_changed_in_place",
    "tensor_operators.zero_dimensional_and_empty_inputs",
    "torch_state.no_grad_decorator",
    "torch_state.set_grad_enabled_as_call_and_back",
    "torch_state.autocast_decorator",
)
MODELS = ("convnet_train", "unet", "gru", "bert")
FAST_PATH = "one tensor as three inputs: Dynamo answers `q is k` by the example, ours keeps three (docs/capture.md)"
DIFFERENT = {"modules_layers.multi_head_attention_fast_path": FAST_PATH}

Build = Callable[[], tuple[Any, tuple[Any, ...], dict[str, Any]]]


def compare(build: Build) -> None:
    """Exports by both, from fresh objects; asserts that the operators are the same."""
    ours = dynamo_lite.export(*build())
    module, args, kwargs = build()
    try:
        theirs = torch.export.export(_as_module(module), args, kwargs, strict=True)
    except torch._dynamo.exc.Unsupported as error:  # on another Python than 3.11
        pytest.skip(f"strict refuses it here: {str(error).splitlines()[0]}")
    assert operators(ours, used_only=True) == operators(theirs, used_only=True)
    unused = operators(ours) - operators(theirs)
    assert not unused - (operators(ours) - operators(ours, used_only=True)), "what strict has not is unused"
    assert not operators(theirs) - operators(ours)


def _as_module(program: Any) -> torch.nn.Module:
    if isinstance(program, torch.nn.Module):
        return program

    class Function(torch.nn.Module):
        def forward(self, *args: Any, **kwargs: Any) -> Any:
            return program(*args, **kwargs)

    return Function()


_BY_NAME = {probe.name: probe for probe in all_probes()}


@pytest.mark.parametrize("name", PROBES)
def test_a_probe_has_the_operators_of_strict(name: str, request: pytest.FixtureRequest) -> None:
    if name in DIFFERENT:
        request.applymarker(pytest.mark.xfail(reason=DIFFERENT[name], strict=True))
    probe: Probe = _BY_NAME[name]

    def build() -> Any:
        case = probe.case()
        return case.program, case.args, case.kwargs

    compare(build)


@pytest.mark.parametrize("name", MODELS)
def test_a_model_has_the_operators_of_strict(name: str) -> None:
    model = load(CORE)[name]

    def build() -> Any:
        case = model.case()
        args, kwargs = case.inputs(0)
        return case.module, args, kwargs

    compare(build)
