"""What takes programs with cond, while_loop and scan: unflatten, torch.compile, AOTInductor.

(Save and load, and decompositions: test_programs.py. What torch refuses of them: docs/control_flow.md.)
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.control_flow.harness import differences, exported, module_of
from tests.control_flow.programs import PROGRAMS

_UNFLATTENED = """
    write_through_a_view unlike_shape_seen_by_nothing written_behind_a_scan elif_returns any_all_builtin
    strides_that_agree a_branch_within_a_branch within_no_grad an_option_is_added_in_a_call choice_in_a_variable
    size_that_is_not_zero counted_list counted_trained added_in_an_endless_loop goes_on_from_the_last_item
    inplace_input size_of_at_least_four root_of_an_integer for_break context_of_an_operators_error grows_by_two
    grows_over_a_dynamic_length_that_data_end while_it_is_shorter held_by_an_object_over_a_dynamic_length
    losses_in_a_dict iterator_moved_by_both the_first_one_is_changed_in_the_iterations getter
    numbers_as_the_index_of_a_write tested_for_items iterations_that_may_be_none strings while_if_inside
    if_then_while dynamic_batch ransac_like exponential_average object_attribute none_or_tensor
    rebound_and_changed rebound_on_both_sides dict_replaced_on_several_ways
    the_input_changed_in_place_by_a_nested_branch backwards_and_in_steps two_layers
    zero_with_a_sign_in_a_complex_number one_object_that_is_nan sent_to_on_both_sides
"""
COMPILED = ["if_else", "nested", "or_of_values", "write_to_either", "for_range_item", "while_append"]
PACKAGED = ["nested", "in_submodule", "while_simple", "for_range_item", "differing_shapes", "nonzero_branch"]


@pytest.mark.parametrize("name", _UNFLATTENED.split())
def test_equals_eager_unflattened(name: str) -> None:
    program, module = PROGRAMS[name], module_of(PROGRAMS[name])
    ep = exported(program, module)
    assert differences(lambda: torch.export.unflatten(copy.deepcopy(ep)), module, program.inputs) == []


@pytest.fixture
def scalars_are_captured() -> Iterator[None]:
    """What torch.compile needs for `item()` and `nonzero()` in a sub-graph, in programs by hand too."""
    with torch._dynamo.config.patch(capture_scalar_outputs=True, capture_dynamic_output_shape_ops=True):
        torch._dynamo.reset()
        yield
        torch._dynamo.reset()


@pytest.mark.parametrize("name", COMPILED)
def test_equals_eager_compiled(name: str, scalars_are_captured: None) -> None:
    program, module = PROGRAMS[name], module_of(PROGRAMS[name])
    ep = exported(program, module)

    def compiled() -> Any:
        return torch.compile(copy.deepcopy(ep).module(), backend="aot_eager")

    assert differences(compiled, module, program.inputs) == []


@pytest.mark.parametrize("name", [PACKAGED[0], *(pytest.param(name, marks=pytest.mark.long) for name in PACKAGED[1:])])
def test_equals_eager_from_an_aot_inductor_package(name: str, tmp_path: Path) -> None:
    program, module = PROGRAMS[name], module_of(PROGRAMS[name])
    with torch.no_grad():
        path = torch._inductor.aoti_compile_and_package(
            exported(program, module), package_path=str(tmp_path / "m.pt2")
        )
        run = torch._inductor.aoti_load_package(path)
        for call in program.inputs:
            torch.testing.assert_close(run(*copy.deepcopy(call)), module(*copy.deepcopy(call)))
