"""What does not fit a probe about registered containers: effects of their functions, guards, saved programs, models."""

from __future__ import annotations

import io
import subprocess
import sys
from typing import Any

import pytest
import torch
from torch.fx.experimental.proxy_tensor import ProxyTorchDispatchMode

import dynamo_lite
from dynamo_lite.capture import Recorder
from dynamo_lite.capture.dispatch_modes import OperatorMode
from dynamo_lite.errors import InputMismatch

from .programs import registered_containers as programs
from .programs.state_of_containers import Holder


def boxed(cls: Any) -> Any:
    return cls(torch.randn(3), torch.randn(3))


@pytest.mark.parametrize("strict", [True, False])
def test_export_takes_back_what_the_functions_change(strict: bool) -> None:
    """They count their calls in a list and a dict of the module; eager never calls them."""
    programs.CALLS[0] = 0
    programs.MADE.clear()
    box = boxed(programs.Counting)
    program = dynamo_lite.export(lambda b: programs.Counting(b.left + 1, b.right), (box,), strict=strict)
    assert programs.CALLS == [0] and programs.MADE == {}
    assert torch.equal(program.module()(box).left, box.left + 1)


def test_export_leaves_no_attribute_that_flatten_sets() -> None:
    box = boxed(programs.Changing)
    before = dict(vars(box))
    dynamo_lite.export(programs.product, (box,))
    assert vars(box) == before


def test_what_the_functions_read_is_no_assumption() -> None:
    box = boxed(programs.Counting)
    trace = dynamo_lite.trace(programs.product, (box,))
    programs.CALLS[0] += 10
    assert trace.guards.check(programs.product, (boxed(programs.Counting),), {}) is None
    assert not any("CALLS" in str(guard) for guard in trace.guards)


def test_guards_look_at_the_tensors_in_a_container() -> None:
    trace = dynamo_lite.trace(programs.product, (boxed(programs.Growing),))
    other = programs.Growing(torch.randn(4), torch.randn(4))
    assert trace.guards.check(programs.product, (boxed(programs.Growing),), {}) is None
    assert trace.guards.check(programs.product, (other,), {}) is not None


def test_another_context_is_rejected() -> None:
    module = dynamo_lite.export(programs.product, (boxed(programs.Growing),)).module()
    box = boxed(programs.Growing)
    box.n = 5
    with pytest.raises(InputMismatch, match="expected a Growing 2, given 5"):
        module(box)
    with pytest.raises(InputMismatch, match="expected a Growing, given a Plain"):
        module(boxed(programs.Plain))


@pytest.mark.parametrize("cls", [programs.Growing, programs.Packed, programs.Plain, programs.Lists])
def test_save_and_load(cls: Any) -> None:
    def f(box: Any) -> Any:
        left = box.left if isinstance(box.left, torch.Tensor) else sum(box.left)
        return cls(box.left, left * box.n + box.right, box.n)

    box = boxed(cls) if cls is not programs.Lists else cls([torch.randn(3), torch.randn(3)], torch.randn(3))
    program = dynamo_lite.export(f, (box,))
    file = io.BytesIO()
    with torch.serialization.safe_globals([cls, programs.Box]):
        torch.export.save(program, file)
        file.seek(0)
        loaded = torch.export.load(file)
    assert torch.equal(loaded.module()(box).right, f(box).right)


def test_run_decompositions() -> None:
    box = boxed(programs.Packed)
    program = dynamo_lite.export(lambda b: programs.Packed(b.left, programs.product(b), b.n), (box,))
    assert torch.equal(program.run_decompositions().module()(box).right, programs.product(box))


def test_steps_in_which_a_container_goes_out_and_in() -> None:
    def step(box: Any, x: torch.Tensor) -> Any:
        return programs.Growing(torch.cat([box.left, x]), torch.cat([x, box.right]), box.n)

    box = boxed(programs.Growing)
    n = torch.export.Dim("n", min=1, max=30)
    module = dynamo_lite.export(step, (box, torch.randn(2)), dynamic_shapes=([{0: n}, {0: n}], None)).module()
    mine = theirs = box
    for _ in range(3):
        x = torch.randn(2)
        mine, theirs = module(mine, x), step(theirs, x)
        assert torch.equal(mine.left, theirs.left) and torch.equal(mine.right, theirs.right)


def test_nothing_of_unflatten_is_left_in_the_program() -> None:
    program = dynamo_lite.export(programs.product, (boxed(programs.Growing),))
    targets = [str(node.target) for node in program.graph.nodes if node.op == "call_function"]
    assert targets == ["aten.mul.Tensor", "aten.add.Tensor"]
    assert not program.constants


def test_operator_mode_answers_what_torch_asks_of_its_kind() -> None:
    """torch's code reads these off an active mode; a new one of torch's must be answered too."""
    torchs = ProxyTorchDispatchMode(None, "symbolic", True)  # type: ignore[arg-type]
    ours = OperatorMode(Recorder(None, ()))
    assert {name for name in vars(torchs) if not hasattr(ours, name)} == {"tracer"}
    assert ours.pre_dispatch and ours.is_infra_mode() and ours.enable_tracing


@pytest.mark.parametrize("kind", ["static", "dynamic", "bare"])
def test_decoders_with_a_registered_cache(kind: str) -> None:
    """Full attention, sliding windows and layers of both kinds; tests/hostile/decoders.py takes any other."""
    names = ["LlamaForCausalLM", "Gemma2ForCausalLM"][: 1 if kind == "bare" else 2]
    command = [sys.executable, "-m", "tests.hostile.decoders", kind, *names]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.stdout.splitlines() == [f"{name} equal" for name in names], done.stderr[-2000:]


def test_class_that_a_returned_container_loses() -> None:
    """It is noted; what later calls may have there is checked, in a saved program as well."""
    program = dynamo_lite.export(_changed_by_kind, (Holder([torch.ones(3)], kind=dict),))
    assert "output.kind is dict in eager, and None in what the program returns" in program.notes
    file = io.BytesIO()
    with torch.serialization.safe_globals([Holder, dict]):
        dynamo_lite.save(program, file)
        file.seek(0)
        loaded = dynamo_lite.load(file)
    for module in (program.module(), loaded.module()):
        for kind in (dict, None):
            assert torch.equal(module(Holder([torch.ones(3)], kind=kind)).parts[0], torch.full((3,), 2.0))
        with pytest.raises(dynamo_lite.DynamoLiteError, match=r"c\.kind: expected None, given <class 'list'>"):
            module(Holder([torch.ones(3)], kind=list))


def _changed_by_kind(c: Holder) -> Holder:
    if c.kind is None or c.kind is dict:
        c.parts[0] = c.parts[0] + 1
    return c
