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
THROUGH = CAPTURED[::9]
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
