"""From a recording to a torch.export.ExportedProgram."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import fx, nn
from torch.export.graph_signature import (
    ConstantArgument,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    SymIntArgument,
    TensorArgument,
)

from dynamo_lite.capture import CaptureError, Lifted, LiftedKind, Recorder
from dynamo_lite.capture.fakes.fake_mode import without_symbols
from dynamo_lite.capture.fakes.fake_tensors import storage_key
from dynamo_lite.capture.graph.names import HIDDEN, RESERVED
from dynamo_lite.capture.module_tree import ModuleTree
from dynamo_lite.program._torch import ModuleCallEntry, ModuleCallSignature, TrainingIRVerifier, mode_known
from dynamo_lite.program.aliases import add_aliases
from dynamo_lite.program.call_signatures import SubmoduleCall
from dynamo_lite.program.exported_program import Program, type_guards
from dynamo_lite.program.regions import outline_regions
from dynamo_lite.program.shapes.dynamic_shapes import Settled
from dynamo_lite.program.shapes.runtime_asserts import insert_runtime_asserts
from dynamo_lite.program.shapes.torch_symbols import all_graphs, rematerialise
from dynamo_lite.program.trees.inputs import FlatInputs, unusable
from dynamo_lite.program.trees.outputs import FlatOutputs
from dynamo_lite.program.trees.wrapper_inputs import admit
from dynamo_lite.symbolic_shapes.dims.violations import Solution
from dynamo_lite.symbolic_shapes.torch_node._torch_dynamo_config import sources_alone
from dynamo_lite.torch_internals._torch_fx import code_on_demand

_KINDS = {
    LiftedKind.PARAMETER: InputKind.PARAMETER,
    LiftedKind.BUFFER: InputKind.BUFFER,
    LiftedKind.CONSTANT: InputKind.CONSTANT_TENSOR,
}


def build_program(
    recorder: Recorder,
    root: nn.Module | None,
    inputs: FlatInputs,
    outputs: FlatOutputs,
    *,
    settled: Settled | None = None,
    buffer_updates: Mapping[str, torch.Tensor] | None = None,
    guards: Sequence[str] = (),
    calls: Sequence[SubmoduleCall] = (),
) -> Program:
    """Ends the recording and makes the program.

    Args:
        root: the module that was exported, None for a function.
        inputs: the flattened call; its names are the recorder's input names.
        outputs: the results of the run (`flatten_outputs`, called right after the run).
        buffer_updates: the new value of each buffer that the run assigned (`self.b = ...`), by FQN: the program
            copies it into the buffer at its end. A buffer changed in place needs no entry.
        settled: the conditions on the inputs' sizes, if some of them may vary.
        guards: more conditions on the inputs, as Python over `L['name']`, checked by `module()`.
        calls: the calls of submodules whose signatures are kept for `torch.export.unflatten`.
    Raises UnsupportedValue for an output that no program can return.
    """
    graph = recorder.graph
    _copy_buffers(root, recorder, outputs, buffer_updates or {})
    kept = [node for call in calls for node in call.nodes()]
    output = graph.output((*outputs.values, *kept))
    _drop_dead(recorder)
    _place_in_root(graph, root)
    # torch's rules for sub-graphs need an environment when a program is traced again, symbols or not.
    has_symbols = recorder.env is not None and (bool(recorder.modules) or not without_symbols(recorder.fake_mode))
    if has_symbols:
        solution = settled.solution if settled is not None else None
        _insert_asserts(recorder, solution)
    modules = outline_regions(graph, recorder.grad_enabled, recorder.modules)
    count = len(outputs.values)
    outputs.values, now = [*output.args[0]][:count], dict(zip(kept, output.args[0][count:]))
    output.args = (tuple(outputs.values),)
    ranges = _materialise(recorder, modules, solution) if has_symbols else {}
    tree = ModuleTree(root)
    input_specs = _input_specs(recorder, tree)
    values = [node.meta.get("val") for node in graph.nodes]
    with code_on_demand(graph) as comes_later, mode_known(values), sources_alone():
        program = Program(
            root=dict(modules),
            graph=graph,
            graph_signature=ExportGraphSignature(input_specs, outputs.output_specs()),
            state_dict=_state_dict(tree, recorder),
            range_constraints=ranges,
            module_call_graph=_module_call_graph(tree, inputs, outputs.spec, [call.entry(now) for call in calls]),
            example_inputs=(inputs.args, inputs.kwargs),
            constants=_constants(tree, recorder),
            verifiers=[TrainingIRVerifier],
        )
    comes_later(program.graph_module)
    program.input_paths = inputs.key_paths
    _check_keywords(program, inputs)
    admit([*inputs.leaves, *(lifted.tensor for lifted in recorder.lifted)])
    types = type_guards(inputs, [node.meta["val"] for node in recorder.input_nodes])
    sizes = settled.guards if settled is not None else []
    program._guards_code = [*program._guards_code, *types, *sizes, *guards]
    return program


def _input_specs(recorder: Recorder, tree: ModuleTree) -> list[InputSpec]:
    """The specification of each placeholder, in order; names of a tensor with more than one get placeholders, too."""
    specs = {lifted.node: _lifted_spec(lifted) for lifted in recorder.lifted}
    specs |= {node: _input_spec(node) for node in recorder.input_nodes}
    for node in recorder.input_nodes:
        if type(node.meta["val"]) is int:  # torch saves no node that uses a number which the signature calls constant
            _write_out(node)
    specs |= add_aliases(recorder.graph, tree, recorder.lifted)
    return [specs[node] for node in recorder.graph.nodes if node.op == "placeholder"]


def _check_keywords(program: Program, inputs: FlatInputs) -> None:
    """Raises InvalidArguments for a keyword argument that hides a name in the generated code (`device(type='cpu')`)."""
    hiding = RESERVED & inputs.kwargs.keys()
    said = {*type(program.graph_module).forward.__code__.co_names} if hiding else set()
    paths = [spec.target.split(".") for spec in program.graph_signature.input_specs if spec.target]
    if not all(part.isidentifier() for path in paths for part in path):
        said.add("getattr")  # `getattr(self.layers, "0").weight`, in the code of module()
    for name in sorted(hiding & said):
        raise unusable(name, HIDDEN)


def _place_in_root(graph: fx.Graph, root: nn.Module | None) -> None:
    """Nodes made outside of every module (sizes that are outputs, a plain function's operators) belong to the root, and
    so do the modules that a function calls: torch.export.unflatten wants a module for each node, below the root."""
    name = "torch.nn.modules.module.Module" if root is None else f"{type(root).__module__}.{type(root).__qualname__}"
    stack = {"L__self__": ("", name)}
    for node in graph.nodes:
        if node.op == "call_function" and "L__self__" not in node.meta.get("nn_module_stack", ()):
            node.meta["nn_module_stack"] = {**stack, **node.meta.get("nn_module_stack", {})}


def _insert_asserts(recorder: Recorder, solution: Solution | None) -> None:
    """Conditions on unbacked values that only run time can check are checked where the values are made."""
    assert recorder.env is not None
    given = solution.guard_set.relations if solution is not None else ()
    insert_runtime_asserts(all_graphs(recorder.graph, recorder.modules), recorder.env, given=given)


def _materialise(recorder: Recorder, modules: Mapping[str, Any], solution: Solution | None) -> dict[Any, Any]:
    """Puts torch's symbols in the place of ours. Returns the range of each."""
    assert recorder.env is not None
    known: dict[str, Any] = {}
    if solution is not None:
        known = {"images": solution.guard_set.images, "ranges": solution.ranges}
    return rematerialise(all_graphs(recorder.graph, modules), recorder.env, **known).range_constraints


def _check_unshared(root: nn.Module | None, fqn: str) -> None:
    """A buffer in two places is one input: assigning one name would change the value of the other.

    A module under two names is one place. tracing/effects/buffer_assignment.py also looks at views.
    """
    if root is None:
        return
    buffers = dict(root.named_buffers(remove_duplicate=False))
    places = [
        f"{path}.{name}" if path else name
        for path, module in root.named_modules()
        for name, buffer in module._buffers.items()
        if buffer is not None and buffer is buffers.get(fqn)
    ]
    if len(places) > 1:
        raise CaptureError(
            "shared-buffer-assigned",
            f"the program assigns the buffer {fqn}, which is registered under several names: {', '.join(places)}",
            "change the buffer in place (copy_()), or register it once",
            {"target": fqn},
        )


def _copy_buffers(
    root: nn.Module | None, recorder: Recorder, outputs: FlatOutputs, updates: Mapping[str, torch.Tensor]
) -> None:
    """The program's end: each assigned buffer gets its new value.

    What shares memory with a buffer that is about to change, and is still needed (another buffer's new value, an
    output), is cloned before the first copy: `self.a, self.b = self.b, self.a`; `old = self.a; self.a = x; return old`.
    """
    buffers = {lifted.fqn: lifted.fake for lifted in recorder.lifted if lifted.kind is LiftedKind.BUFFER}
    for fqn in updates:
        _check_unshared(root, fqn)
    updates = {fqn: value for fqn, value in updates.items() if recorder.lift(value) is not buffers[fqn]}
    changing = {storage_key(buffers[fqn]) for fqn in updates}

    def kept(value: torch.Tensor) -> torch.Tensor:
        return recorder.clone(value) if storage_key(recorder.lift(value)) in changing else value

    if not updates:
        return
    values = {fqn: kept(value) for fqn, value in updates.items()}
    for index, leaf in enumerate(outputs.leaves):
        if isinstance(leaf, torch.Tensor):
            outputs.values[index] = recorder.node_of(kept(leaf))
    for fqn, value in values.items():
        recorder.copy_into(buffers[fqn], value)


def _drop_dead(recorder: Recorder) -> None:
    """Removes what torch.export removes and nothing else: dead detach and profiler nodes, and unused constants."""
    graph = recorder.graph
    for node in reversed(graph.nodes):
        if not node.users and node.op == "call_function" and node.target in _DROPPED:
            graph.erase_node(node)
    for node in reversed(recorder.passing):
        schema = getattr(node.target, "_schema", None)
        if not node.users and schema is not None and not schema.is_mutable:
            graph.erase_node(node)
    for lifted in list(recorder.lifted):
        if lifted.kind is LiftedKind.CONSTANT and (chain := _unused_literal(lifted.node)) is not None:
            for node in chain:
                graph.erase_node(node)
            recorder.lifted.remove(lifted)


def _unused_literal(node: fx.Node) -> list[fx.Node] | None:
    """The nodes to erase, last first, if a constant is used only by the operators that end torch.tensor(...)."""
    chain = [node]
    while chain[0].users:
        user, *others = chain[0].users
        if others or user.target not in _LITERAL:
            return None
        chain.insert(0, user)
    return chain


_LITERAL = frozenset({torch.ops.aten.lift_fresh_copy.default, torch.ops.aten.detach_.default})
_DROPPED = frozenset(
    {
        torch.ops.aten.detach.default,
        torch.ops.profiler._record_function_enter.default,
        torch.ops.profiler._record_function_enter_new.default,
        torch.ops.profiler._record_function_exit._RecordFunction,
    }
)


def _lifted_spec(lifted: Lifted) -> InputSpec:
    argument = TensorArgument(name=lifted.node.name)
    return InputSpec(_KINDS[lifted.kind], argument, lifted.fqn, lifted.persistent)


def _input_spec(node: fx.Node) -> InputSpec:
    value = node.meta["val"]
    argument: Any
    if isinstance(value, torch.Tensor):
        argument = TensorArgument(name=node.name)
    elif isinstance(value, torch.SymInt):
        argument = SymIntArgument(name=node.name)
    else:
        argument = ConstantArgument(name=node.name, value=value)
    return InputSpec(InputKind.USER_INPUT, argument, None)


def _write_out(node: fx.Node) -> None:
    """Put an input's number in the place of the input: a size that the program fixes, or that may not vary."""
    for user in list(node.users):
        args, kwargs = fx.map_arg((user.args, user.kwargs), lambda arg: node.meta["val"] if arg is node else arg)
        user.args, user.kwargs = args, kwargs


def _state_dict(tree: ModuleTree, recorder: Recorder) -> dict[str, torch.Tensor]:
    """The module's own tensors under all their names, and those of modules that none registers.

    Not `state_dict()`, whose hooks may change them.
    """
    state: dict[str, torch.Tensor] = dict(tree.parameters)
    for lifted in recorder.lifted:
        if lifted.kind is LiftedKind.PARAMETER:  # one that no module has registered may be any leaf that requires grad
            is_parameter = isinstance(lifted.tensor, nn.Parameter)
            state[lifted.fqn] = lifted.tensor if is_parameter else nn.Parameter(lifted.tensor.detach())
        elif lifted.persistent:
            state[lifted.fqn] = lifted.tensor
    transient = tree.transient
    for fqn, buffer in tree.buffers:
        if fqn not in transient:
            state[fqn] = buffer
    return state


def _constants(tree: ModuleTree, recorder: Recorder) -> dict[str, Any]:
    """Tensors outside the state: constants, and buffers that are not persistent, under all their names."""
    constants: dict[str, Any] = {}
    for lifted in recorder.lifted:
        if lifted.kind is LiftedKind.CONSTANT:
            # A constant is not a leaf to be trained (lift_constants_pass takes the parameter off it as well).
            is_trained = lifted.tensor.requires_grad or isinstance(lifted.tensor, nn.Parameter)
            constants[lifted.fqn] = lifted.tensor.detach() if is_trained else lifted.tensor
        elif lifted.persistent is False:
            constants[lifted.fqn] = lifted.tensor
    transient = tree.transient
    if transient:
        constants.update((fqn, buffer) for fqn, buffer in tree.buffers if fqn in transient)
    return constants


def _module_call_graph(
    tree: ModuleTree, inputs: FlatInputs, out_spec: Any, calls: Sequence[ModuleCallEntry]
) -> list[ModuleCallEntry]:
    signature = ModuleCallSignature(
        inputs=[], outputs=[], in_spec=inputs.spec, out_spec=out_spec, forward_arg_names=inputs.arg_names
    )
    entries = [ModuleCallEntry(fqn="", signature=signature)]
    if tree.modules:
        names = [fqn for fqn, _ in tree.modules if fqn]
        known = {entry.fqn: entry for entry in calls}
        entries += [known.pop(fqn, ModuleCallEntry(fqn=fqn)) for fqn in names]
        entries += known.values()  # further calls: "layer@1"
    return entries
