"""Some of the probes of tests/export with strict=False; all of them: `python -m benchmarks.nonstrict`."""

from __future__ import annotations

import zlib

import pytest

from benchmarks.nonstrict import CHANGED, EQUAL, INTERNAL, NOTED, REFUSED, WRONG, classify
from tests.export.probe import Probe, all_probes

PROBES = {probe.name: probe for probe in all_probes()}
SAMPLE = [name for name in PROBES if zlib.crc32(name.encode()) % 15 == 0]

HARD = {
    "data_values.hash_of_an_object": {NOTED, EQUAL},
    "data_values.numpy_random": {NOTED},
    "data_values.own_random_generator": {NOTED},
    "torch_state.dispatch_mode_in_forward": {REFUSED},
    "torch_state.dual_numbers": {REFUSED},
    "effects_process.numpy_table_changed_after_it_became_a_tensor": {NOTED, REFUSED},
    "effects_gradients.grad_function_name": {NOTED},
    "effects_aliases.identity_with_a_buffer_asked": {NOTED},
    "effects_data.tensor_from_a_numpy_array_changed": {REFUSED},
    "effects_data.tensors_swapped": {REFUSED},
    "effects_gradients.version_counter_of_a_buffer": {NOTED},
    "effects_hidden_state.abc_registration": {NOTED},
    "effects_attributes.annotations_changed": {NOTED},
    "effects_attributes.class_bases_assigned": {NOTED},
    "effects_hidden_state.context_variable_reset_with_an_outside_token": {REFUSED},
    "effects_memory.ctypes_array_item": {NOTED},
    "effects_memory.ctypes_value": {NOTED},
    "effects_hidden_state.decimal_context": {NOTED},
    "effects_attributes.exception_cause_assigned": {NOTED},
    "effects_hidden_state.iterator_bound_method": {NOTED},
    "effects_hidden_state.iterator_by_getattr_and_get": {NOTED},
    "effects_hidden_state.iterator_from_dict_values": {NOTED},
    "effects_hidden_state.iterator_popped_from_a_list": {NOTED},
    "effects_hidden_state.iterator_zipped": {NOTED},
    "effects_hidden_state.iterators_in_a_list_loop": {NOTED},
    "effects_hidden_state.numpy_generator_from_outside": {NOTED},
    "effects_hidden_state.numpy_random_state": {NOTED},
    "effects_memory.numpy_shape_assigned": {NOTED},
    "effects_attributes.partial_state_set": {NOTED},
    "effects_hidden_state.regular_expression_iterator": {NOTED},
    "language_protocols.type_of_tensor_and_parameter": {EQUAL, NOTED},
    "language_statements.partial_as_program": {EQUAL},
    "language_stdlib.counter_from_itertools": {NOTED},
    "language_stdlib.lru_cache_statistics_are_read": {NOTED},
    "state_python.attribute_of_an_imported_module": {NOTED},
    "state_python_memo.environment_variable_counts": {NOTED},
    "tensors.different_tensors_compared_by_identity": {NOTED},
    "torch_state.torch_function_override": {EQUAL, REFUSED},
}
"""Probe → its classes. Each is about what no hook sees while CPython runs the program."""


@pytest.mark.parametrize("name", SAMPLE)
def test_is_right_or_says_that_it_is_not(name: str) -> None:
    row = classify(PROBES[name])
    assert row.kind not in (WRONG, INTERNAL), row.text


@pytest.mark.parametrize("name", HARD)
def test_what_no_hook_sees_is_seen(name: str) -> None:
    row = classify(PROBES[name])
    assert row.kind in HARD[name], (row.kind, row.text, row.notes)


def test_the_sample_has_programs_of_each_kind() -> None:
    allowed: set[str] = set().union(*(PROBES[name].allowed for name in SAMPLE))
    assert "equal" in allowed and len(allowed - {"equal", "raises"}) > 5
    assert len(SAMPLE) > 30 and all(isinstance(PROBES[name], Probe) for name in HARD)


def test_a_generator_from_outside_is_moved_on_and_said() -> None:
    assert classify(PROBES["effects_hidden_state.generator_from_outside"]).kind == CHANGED
