"""Every case of ExportDB does what its file says."""

from __future__ import annotations

import pytest
import torch

from dynamo_lite.exportdb import catalogue
from dynamo_lite.exportdb.checking import check

# Topics of torch's own ExportDB and of the torch.export tutorials, as names of our cases.
OFFICIAL_TOPICS = (
    "assume_constant_result", "autograd_function", "class_method", "cond_branch_class_method",
    "cond_branch_nested_function", "cond_branch_nonlocal_variables", "cond_closed_over_variable", "cond_operands",
    "cond_predicate", "constrain_as_size", "constrain_as_value", "decorator", "dictionary", "dynamic_shape_assert",
    "dynamic_shape_constructor", "dynamic_shape_if_guard", "dynamic_shape_map", "dynamic_shape_round",
    "dynamic_shape_slicing", "dynamic_shape_view", "fn_with_kwargs", "list_contains", "list_unpack",
    "model_attr_mutation", "nested_function", "null_context_manager", "optional_input", "pytree_flatten",
    "scalar_output", "specialized_attribute", "static_for_loop", "static_if", "tensor_setattr",
    "type_reflection_method", "unsupported_operator", "user_input_mutation", "torch_sym_min",
)  # fmt: skip


@pytest.mark.parametrize("name", catalogue.names())
def test_a_case_does_what_it_says(name: str) -> None:
    torch.manual_seed(1)
    assert check(catalogue.load(name)) == []


def test_every_official_topic_has_a_case() -> None:
    assert set(OFFICIAL_TOPICS) - set(catalogue.names()) == set()
