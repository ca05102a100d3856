"""torch's own ExportDB as an outside oracle: what it calls supported exports here and equals eager."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch._export.db.case import SupportLevel  # private; torch 2.13.0 checked
from torch._export.db.examples import all_examples

import dynamo_lite
from dynamo_lite.errors import DynamoLiteError
from dynamo_lite.exportdb import catalogue
from dynamo_lite.exportdb.comparison import difference

EXAMPLES = all_examples()
REFUSED = {"tensor_setattr": "tensor-attribute"}
"""What torch calls supported and we refuse: eager leaves an attribute on the caller's tensor, torch's program none."""


def _export(example: Any) -> Any:
    kwargs = dict(example.example_kwargs)
    return dynamo_lite.export(example.model, example.example_args, kwargs, dynamic_shapes=example.dynamic_shapes)


@pytest.mark.filterwarnings("ignore:Pred is a Python constant")
@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_an_official_example_equals_eager(name: str) -> None:
    example = EXAMPLES[name]
    try:
        program = _export(example)
    except DynamoLiteError as error:
        assert REFUSED.get(name, error.id) == error.id
        assert name in REFUSED or example.support_level is SupportLevel.NOT_SUPPORTED_YET
        return
    calls = [(example.example_args, example.example_kwargs)]
    calls += [(example.extra_args, {})] if example.extra_args is not None else []
    for args, kwargs in calls:
        mine, theirs = copy.deepcopy((args, kwargs)), copy.deepcopy((args, kwargs))
        torch.manual_seed(0)
        got = program.module()(*mine[0], **mine[1])
        torch.manual_seed(0)
        want = example.model(*theirs[0], **theirs[1])
        assert difference(got, want) is None
        assert difference(mine, theirs) is None


def test_every_official_topic_has_a_case_of_ours() -> None:
    assert len(EXAMPLES) > 30
    topics = {name.removesuffix("_example") for name in EXAMPLES}
    assert topics - set(catalogue.names()) == set()
