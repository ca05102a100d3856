"""The types of the options (option_types.py) against what the functions accept, and the attributes of a program."""

from __future__ import annotations

import copy
import inspect
import io
import typing
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

import dynamo_lite
from dynamo_lite import option_types
from dynamo_lite.errors import InvalidArguments
from dynamo_lite.report.groups import GROUPS
from dynamo_lite.report.parts import PARTS

ARGS = (torch.ones(3, 2),)


class Reads(nn.Module):
    """It has a note: the index fixes nothing, but the `Dim` has no minimum."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x[0]


def exported() -> dynamo_lite.Program:
    return dynamo_lite.export(Reads(), ARGS, dynamic_shapes={"x": {0: torch.export.Dim("n")}})


@pytest.mark.parametrize("function", [dynamo_lite.export, dynamo_lite.trace])
def test_export_options_are_the_options_of_export(function: Callable[..., Any]) -> None:
    parameters = inspect.signature(function).parameters
    options = {name for name, p in parameters.items() if p.kind is p.KEYWORD_ONLY}
    assert option_types.ExportOptions.__annotations__.keys() == options - {"dynamic_shapes", "constraints"}


def test_the_groups_that_explain_unfolds() -> None:
    assert set(option_types.choices(option_types.Unfolded)) == {group.key for group in (*GROUPS, *PARTS)}


@pytest.mark.parametrize("name, option", [("effects", "Effects"), ("control_flow", "ControlFlow")])
def test_each_choice_is_accepted_and_no_other(name: str, option: str) -> None:
    known = option_types.choices(getattr(option_types, option))
    for choice in known:
        dynamo_lite.export(nn.ReLU(), ARGS, **{name: choice})
    with pytest.raises(InvalidArguments, match=f"{name} must be one of {', '.join(known)}; not 'other'"):
        dynamo_lite.export(nn.ReLU(), ARGS, **{name: "other"})


def test_the_types_can_be_used_at_run_time() -> None:
    assert type(None) in typing.get_args(dynamo_lite.DynamicShapes)
    assert typing.get_args(dynamo_lite.DynamicShapes | int)


def test_the_notes_of_a_program_and_of_what_is_made_from_it() -> None:
    program = exported()
    assert program.notes and program.trace.notes == program.notes and type(program) is dynamo_lite.Program
    assert copy.deepcopy(program).notes == program.run_decompositions().notes == program.notes


def test_a_loaded_program_has_no_notes() -> None:
    file = io.BytesIO()
    dynamo_lite.save(exported(), file)
    file.seek(0)
    program = dynamo_lite.load(file)
    assert type(program) is dynamo_lite.Program
    assert (dict(program.notes), program.specializations, hasattr(program, "trace")) == ({}, (), False)
