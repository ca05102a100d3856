"""What a trace puts into torch's classes for its time is gone after it, though the program writes there as well."""

from __future__ import annotations

import builtins

import pytest
import torch
import torch._tensor_str

import dynamo_lite
from tests.export.probe import Probe, probes_by_file

PROGRAMS = next(p for file, p in probes_by_file("tests.hostile.programs").items() if "patched" in file.__name__)
OWNERS = (torch.Tensor, torch._tensor_str, torch.SymInt, builtins)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_the_process_is_as_before(program: Probe) -> None:
    before = [dict(vars(owner)) for owner in OWNERS]
    case = program.case()
    try:
        dynamo_lite.export(case.program, case.args)
    except dynamo_lite.DynamoLiteError as error:
        assert "attribute __format__" not in str(error)
    for owner, names in zip(OWNERS, before):
        now = vars(owner)
        assert now.keys() == names.keys()
        assert [name for name, value in names.items() if now[name] is not value] == []
