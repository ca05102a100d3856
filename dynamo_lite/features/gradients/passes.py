"""The checks of a run that are about gradients: the program's backward gives eager's gradients."""

from __future__ import annotations

from dynamo_lite.features.gradients import made_leaves
from dynamo_lite.program.shapes.size_check import WITHOUT_GRADIENTS, ambiguous
from dynamo_lite.run.finished_run import CallRecord, FinishedRun, lose_gradient
from dynamo_lite.torch_internals._torch_pytree import keystr
from dynamo_lite.tracing.assumptions.input_guards import InputGuards
from dynamo_lite.tracing.effects import kept_operands, requires_grad
from dynamo_lite.tracing.higher_order import backward
from dynamo_lite.tracing.higher_order.autograd import SavedRegions
from dynamo_lite.tracing.higher_order.backward import Backwards
from dynamo_lite.tracing.tensors.attributes import TensorWrites
from dynamo_lite.tracing.tensors.side_differences import SideDifferences


def judge(run: FinishedRun, call: CallRecord) -> None:
    """Check the gradients of the program. Raises the graph break for one that is not eager's."""
    _flows(run)
    _cut_off(run)
    backward.check_saved(run.tracer, run.tracer.own(Backwards).saved)  # a Function's backward raises where eager's does
    kept_operands.separate(run.recorder, run.inputs.leaves, run.effects.buffer_updates)


def _flows(run: FinishedRun) -> None:
    """Check that a gradient that flows in eager flows in the program. (The second of two runs is not a program.)"""
    if run.request.earlier is not None:
        return
    tracer, recorder = run.tracer, run.recorder
    if tracer.own(SavedRegions).all:
        region = requires_grad.saved_in(recorder, run.inputs.leaves, tracer.own(SavedRegions).all)
        if region is not None:
            function = "torch.autograd.graph.saved_tensors_hooks"
            text = "the saved_tensors_hooks do not run: no backward of the program calls them"
            lose_gradient(run, tracer.graph_break("gradient-hook", region.mark, function=function), text)
    retained = requires_grad.retained(run.outputs)
    if retained is not None:
        tracer.note(f"output {retained} retains its gradient in eager (Tensor.retain_grad), not in the program")
    made = requires_grad.made_parameter(recorder, run.outputs)
    if made is not None:
        graph_break = tracer.graph_break("tensor-subclass", name="nn.Parameter (made in forward, and returned)")
        lose_gradient(run, graph_break, f"output {made} is an nn.Parameter in eager, a plain tensor in the program")
    constant = requires_grad.cut_constant(recorder, run.outputs)
    if constant is not None:
        graph_break = tracer.graph_break("constant-gradient", constant.mark, target=constant.fqn)
        lose_gradient(run, graph_break, f"no gradient flows through the constant {constant.fqn}")
    lost = requires_grad.lost(recorder, run.inputs.leaves, run.outputs)
    if lost and not tracer.own(Backwards).are_operators:
        left = made_leaves.carry(recorder, run.outputs, lost)
        if left != lost:
            tracer.note("outputs require grad by a leaf that forward makes; in the program, by a parameter of its own")
        lost = left
    if lost:
        mark, node = tracer.own(TensorWrites).made_leaf, run.outputs.values[lost[0]]
        graph_break = made_leaves.graph_break(node) if mark is None else tracer.graph_break("made-leaf", mark)
        lose_gradient(run, graph_break, f"output {lost[0]} has requires_grad in eager; the program's has not")


def _cut_off(run: FinishedRun) -> None:
    """No gradient goes through torch's while_loop, whose gradient is wrong, nor through a detached result of a branch:
    an input that requires grad in another call than the example is refused there."""
    differences = run.tracer.own(SideDifferences)
    if run.request.without_gradients or differences.lost or differences.unsure:
        _gradients_lost(run, differences)
    for number in requires_grad.inputs_cut_off(run.recorder, run.inputs.leaves, run.outputs, differences.cut):
        if ambiguous(run.inputs.key_paths):
            why = f"its gradient with regard to {run.inputs.names[number]} would be wrong, and no guard can be written"
            raise run.tracer.graph_break("loop-gradient", why=why)
        path = f"L{keystr(run.inputs.key_paths[number])}"
        run.tracer.own(InputGuards).add(f"not (torch.is_grad_enabled() and {path}.requires_grad)")


def _gradients_lost(run: FinishedRun, differences: SideDifferences) -> None:
    """Record gradients of the example that eager computes and the program does not: it is right where gradients are
    off. (Such a program is recorded again without: dynamo_lite/attempts.py.)"""
    found = requires_grad.lost_behind(run.recorder, run.outputs, run.effects.buffer_updates.values(), differences)
    differences.needs_no_grad = (*run.request.without_gradients, *found)
    for why in differences.needs_no_grad:
        run.tracer.note(f"the program is called under torch.no_grad() only: {why}")
        run.tracer.own(InputGuards).add(WITHOUT_GRADIENTS)
