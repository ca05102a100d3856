"""Every model, exported strict: its program equals eager on the example and on fresh inputs of the same shapes.

make test      the core list
make models    the long list too, as a table with times beside torch.export's
"""

from __future__ import annotations

import copy

import pytest
import torch

from dynamo_lite import export
from tests.models.compare import difference, disagreement
from tests.models.registry import CORE, LONG, Model, load

EXAMPLE_AND_FRESH = (0, 1, 2)


def check(model: Model) -> None:
    """Export a model that has never run (some install hooks on their first call) and compare the program with eager."""
    case = model.case()
    eager = copy.deepcopy(case.module)
    args, kwargs = case.inputs(0)
    program = export(case.module, args, kwargs, strict=True)
    assert isinstance(program, torch.export.ExportedProgram)
    unchanged = difference(case.module.state_dict(), eager.state_dict(), tolerance=0.0)
    assert unchanged is None, f"export changed the module: {unchanged}"
    problem = disagreement(program.module(), eager, case.inputs, EXAMPLE_AND_FRESH, case.tolerance)
    assert problem is None, problem


@pytest.mark.parametrize("model", load(CORE).values(), ids=lambda model: model.name)
def test_core_model(model: Model) -> None:
    check(model)


@pytest.mark.long
@pytest.mark.parametrize("model", load(LONG).values(), ids=lambda model: model.name)
def test_long_model(model: Model) -> None:
    check(model)
