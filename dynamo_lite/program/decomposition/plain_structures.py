"""The structure of a program's inputs and results without containers that torch's passes cannot flatten or rebuild.

A pass of torch's runs the program on fake tensors and flattens the results. Constants among them (constant_outputs.py)
are not values of a graph; functions that a library has registered for its containers may run tensor operators, which
the pass would record as the program's.
"""

from __future__ import annotations

from dataclasses import replace

from torch.export import ExportedProgram

from dynamo_lite.program.trees.constant_outputs import ConstantOutput
from dynamo_lite.program.trees.paths import is_foreign
from dynamo_lite.torch_internals._torch_pytree import pytree

Structures = tuple[pytree.TreeSpec, pytree.TreeSpec]


def structures(program: ExportedProgram) -> Structures:
    """(of the inputs, of the results)"""
    signature = program.module_call_graph[0].signature
    assert signature is not None
    return signature.in_spec, signature.out_spec


def put_structures(program: ExportedProgram, of_inputs: pytree.TreeSpec, of_results: pytree.TreeSpec) -> None:
    """Gives `program` an entry of its own for the whole call, with these structures."""
    root, *calls = program.module_call_graph
    assert root.signature is not None
    root = replace(root, signature=replace(root.signature, in_spec=of_inputs, out_spec=of_results))
    program._module_call_graph = [root, *calls]


def plain(spec: pytree.TreeSpec) -> pytree.TreeSpec:
    """The structure with an empty tuple for each constant, and a tuple for each container of such functions."""
    if spec.is_leaf():
        return spec
    children = [plain(child) for child in spec.children()]
    if spec.type is ConstantOutput or is_foreign(spec.type):
        return pytree.TreeSpec(tuple, None, children)
    return pytree.TreeSpec(spec.type, spec.context, children)
