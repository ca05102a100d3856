"""Each program equals eager on inputs that take each way, also after save and load and after decompositions."""

from __future__ import annotations

import copy

import pytest

import dynamo_lite
from dynamo_lite.errors import GraphBreak
from tests.control_flow.harness import differences, exported, laid_out_otherwise, module_of, saved_and_loaded
from tests.control_flow.programs import PROGRAMS

CAPTURED = [name for name, program in PROGRAMS.items() if program.refused is None]
REFUSED = [name for name, program in PROGRAMS.items() if program.refused is not None]
NOT_DECOMPOSED = {
    "greedy_decode", "truth_of_a_row", "grows_over_a_dynamic_length_that_data_end", "viterbi_with_back_pointers",
    "generate_with_a_cache_object", "parameter_without_gradient",
}  # fmt: skip
"""torch's decompositions refuse an in-place index with a number that only run time knows, and nothing bounds; and a
while_loop that carries a tensor whose size it does not find to be as before (`s0 - u + Min(s0, u + 2) - 2`). They leave
out the detach of parameters in a program without gradients: a call with gradients asks torch for one that scan has not,
and finds no strides of a branch's results. A parameter that is changed is copied to at the end, without
torch.no_grad(): only a call without gradients can be made."""
_THROUGH = """
    write_to_either write_in_a_loop result_of_a_loop_is_written conditional_expression or_of_values
    differing_shapes early_return_of_a_dict the_caller_raises a_method_is_chosen
    a_range_is_moved_by_a_branch_within_a_branch choice_of_functions counted_exits counted_backwards
    list_left_from_some_round_on steps_held_by_an_object two_counters_that_begin_alike alias_of_input
    larger_of_nan_and_one with_inside function_with_setup_context_on_both_sides generate_with_gradients_on
    grows_along_the_last_dimension doubles_in_each_round held_by_the_caller held_by_a_list which_of_two_it_is
    branch_in_a_loop_over_modules one_of_two_under_no_other_name stacked_without_a_test while_with_a_bound
    summed one_or_two_items_of_a_round while_and collatz for_range_break power_iteration running_maximum
    dict_new_key choose_module dict_rebound rebound_beside_a_list_that_grows one_item_twice
    one_of_three_changed_in_place gru_over_range_with_gradient stack_of_a_comprehension pairs_sorted_in_place
    zero_with_a_sign_as_a_key memory_of_an_array_that_is_read moved_into_a_block
"""
THROUGH = frozenset(_THROUGH.split())
"""Programs that go through save, load and decompositions each time; the others in the long run."""


@pytest.mark.parametrize("name", CAPTURED)
def test_equals_eager(name: str) -> None:
    program = PROGRAMS[name]
    module = module_of(program)
    ep = exported(program, module)
    relaid = map(laid_out_otherwise, program.inputs)
    assert differences(lambda: copy.deepcopy(ep).module(), module, program.inputs, relaid) == []


@pytest.mark.parametrize(
    "name", [name if name in THROUGH else pytest.param(name, marks=pytest.mark.long) for name in CAPTURED]
)
def test_equals_eager_after_torchs_passes(name: str) -> None:
    program = PROGRAMS[name]
    module = module_of(program)
    ep = exported(program, module)
    assert differences(lambda: saved_and_loaded(ep).module(), module, program.inputs) == []
    if name not in NOT_DECOMPOSED:
        decomposed = copy.deepcopy(ep).run_decompositions()
        assert differences(lambda: copy.deepcopy(decomposed).module(), module, program.inputs) == []


@pytest.mark.parametrize("name", REFUSED)
def test_is_refused(name: str) -> None:
    program = PROGRAMS[name]
    with pytest.raises(GraphBreak) as caught:
        exported(program, module_of(program))
    assert caught.value.id == program.refused


@pytest.mark.parametrize("name", ["if_else", "while_simple", "for_range_item"])
def test_is_refused_on_request(name: str) -> None:
    with pytest.raises(GraphBreak) as caught:
        dynamo_lite.export(module_of(PROGRAMS[name]), PROGRAMS[name].inputs[0], control_flow="refuse")
    assert caught.value.id.startswith("data-dependent")
