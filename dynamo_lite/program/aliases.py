"""Parameters and buffers under several names: tied weights, a module with two parents, `self.b = self.a`.

The operators use the placeholder of the first name (of a buffer: of the first persistent one). Each further name has a
unused placeholder, as in torch.export's non-strict mode, so that `module()` and its `state_dict()` have all
names, after `torch.export.load` too; they share one tensor.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence

from torch import fx
from torch.export import ExportedProgram
from torch.export.graph_signature import ExportGraphSignature, InputKind, InputSpec, TensorArgument

from dynamo_lite.capture import Lifted, LiftedKind
from dynamo_lite.capture.graph.names import lifted_names, rename_placeholder
from dynamo_lite.capture.module_tree import ModuleTree
from dynamo_lite.program.trees.user_inputs import input_rows

_STATE = (InputKind.PARAMETER, InputKind.BUFFER)


def add_aliases(graph: fx.Graph, tree: ModuleTree, lifted: Sequence[Lifted]) -> dict[fx.Node, InputSpec]:
    """Adds the placeholders of further names, in the order of the names. Returns the entry of each in the signature."""
    if not tree.modules:
        return {}
    first = {(entry.kind, id(entry.tensor)): entry for entry in lifted}
    own = {(entry.kind, entry.fqn): entry.node for entry in lifted}
    used = {node.name for node in graph.nodes}
    transient: set[str] | None = None
    specs: dict[fx.Node, InputSpec] = {}
    last = graph._root
    for kind, fqn, tensor in _names(tree):
        node = own.get((kind, fqn))
        if node is None and (kind, id(tensor)) in first:
            is_parameter = kind is LiftedKind.PARAMETER
            (name,) = lifted_names([("p_" if is_parameter else "b_", fqn)], used)
            node = _placeholder(graph, name, last, first[kind, id(tensor)].node)
            if transient is None:
                transient = tree.transient
            persistent = None if is_parameter else fqn not in transient
            of_kind = InputKind.PARAMETER if is_parameter else InputKind.BUFFER
            specs[node] = InputSpec(of_kind, TensorArgument(name), fqn, persistent)
        last = node or last
    return specs


def _names(tree: ModuleTree) -> list[tuple[LiftedKind, str, object]]:
    parameters = [(LiftedKind.PARAMETER, fqn, parameter) for fqn, parameter in tree.parameters]
    return [*parameters, *((LiftedKind.BUFFER, fqn, buffer) for fqn, buffer in tree.buffers)]


def _placeholder(graph: fx.Graph, name: str, after: fx.Node, like: fx.Node) -> fx.Node:
    with graph.inserting_after(after):
        node = graph.create_node("placeholder", name, (), {}, name=name)
    rename_placeholder(node, name)
    node.meta = dict(like.meta)
    return node


def without_aliases(program: ExportedProgram) -> ExportedProgram:
    """`program`, or a copy of it that has the first name of each tensor only.

    torch's tracer cannot distinguish two inputs that are one tensor if the program changes it in place.
    """
    unused = _unused_aliases(program)
    if not unused:
        return program
    graph = copy.deepcopy(program.graph)
    for node in list(graph.nodes):
        if node.op == "placeholder" and node.name in unused:
            graph.erase_node(node)
    signature = program.graph_signature
    specs = [spec for spec in signature.input_specs if getattr(spec.arg, "name", "") not in unused]
    own = copy.copy(program)
    own._graph_module = fx.GraphModule(program.graph_module, graph)
    own._graph_module.meta.update(program.graph_module.meta)
    own._graph_signature = ExportGraphSignature(specs, signature.output_specs)
    return own


def with_aliases(program: ExportedProgram, original: ExportedProgram) -> None:
    """Gives `program`, made of `without_aliases(original)`, the names back that it lacks."""
    aliases = _unused_aliases(original)
    if not aliases:
        return
    nodes = {node.name: node for node in program.graph.nodes}
    rows = input_rows(program)
    by_target = {spec.target: node for node, spec in rows}
    tensors = {**original.constants, **original.state_dict}
    place, last = 0, program.graph._root
    for spec in original.graph_signature.input_specs:
        if spec.kind not in _STATE:
            break
        assert spec.target is not None
        node = by_target.get(spec.target)
        name = spec.arg.name
        if node is None and name in aliases and name not in nodes:
            like = next(by_target[t] for t in by_target if t in tensors and tensors[t] is tensors[spec.target])
            node = _placeholder(program.graph, name, last, like)
            rows.insert(place, (node, InputSpec(spec.kind, TensorArgument(name), spec.target, spec.persistent)))
        if node is not None:
            place, last = place + 1, node
    program.graph_signature.input_specs = [spec for _, spec in rows]
    program.graph_module.recompile()


def _unused_aliases(program: ExportedProgram) -> set[str]:
    """The names of placeholders without users, for a tensor that another one of the same kind is for."""
    tensors = {**program.constants, **program.state_dict}
    nodes = {node.name: node for node in program.graph.nodes if node.op == "placeholder"}
    state = [spec for spec in program.graph_signature.input_specs if spec.kind in _STATE]
    users: dict[tuple[InputKind, int], list[str]] = {}
    for spec in state:
        users.setdefault((spec.kind, id(tensors.get(spec.target))), []).append(spec.arg.name)
    found: set[str] = set()
    for names in users.values():
        unused = [name for name in names if not nodes[name].users]
        found |= set(unused[1:] if len(unused) == len(names) else unused) if len(names) > 1 else set()
    return found
