"""Varying sizes in Python code: calls, keys of dicts, comparisons, truth, and errors of questions that data decide.

The rules are in `tracing/sizes`; this is the record of the feature.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import partial

from dynamo_lite.tracing.feature import Feature
from dynamo_lite.tracing.interfaces import Step, TracerView
from dynamo_lite.tracing.sizes import (
    builtin_calls,
    data_dependent_errors,
    dict_keys,
    math_functions,
    native_arguments,
    number_methods,
    runtime_values,
    sequence_equality,
)


def _rules() -> dict[int, Step]:
    rows: dict[int, Step] = {}
    for part in (builtin_calls, math_functions, native_arguments, dict_keys, runtime_values):
        rows |= part.table()
    return rows


def _around(tracer: TracerView) -> AbstractContextManager[None]:
    """Within, symbolic sizes have the methods of numbers."""
    in_text = tracer.features.answers.get("size in text")
    return number_methods.as_numbers(in_text and partial(in_text, tracer), tracer.in_library)


FEATURE = Feature(
    name="sizes",
    rules=_rules,
    on={
        "undecided": data_dependent_errors.undecided,
        "specialized": builtin_calls.specialized,
        "truth": runtime_values.assert_truth,
        "equal": sequence_equality.equal,
        "dict key": dict_keys.key,
        "identity of numbers": builtin_calls.identical,
        "converted": native_arguments.converted,
        "failed": native_arguments.with_bools_decided,
        ("attribute", range): builtin_calls.read_range,
    },
    around=_around,
    graph_breaks=("data-dependent-branch", "data-dependent-value"),
)
