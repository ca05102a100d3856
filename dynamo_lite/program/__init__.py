"""The program: inputs, outputs and signature, bridged into torch.export.ExportedProgram.

`build.py` ends a recording and makes the program; `regions.py` outlines no_grad and autocast regions;
`exported_program.py` is the class, with saving and loading; `decompositions.py` its own run_decompositions.
Called by `pipeline.py` and `run`. Imports `capture`, `symbolic_shapes` and `interpreter/code`; nothing of tracing.
"""

from dynamo_lite.errors import InputMismatch, UnsupportedValue
from dynamo_lite.program.build import build_program
from dynamo_lite.program.exported_program import Program
from dynamo_lite.program.trees.containers import register_container
from dynamo_lite.program.trees.inputs import FlatInputs, flatten_inputs
from dynamo_lite.program.trees.outputs import FlatOutputs, flatten_outputs

__all__ = [
    "FlatInputs",
    "FlatOutputs",
    "InputMismatch",
    "Program",
    "UnsupportedValue",
    "build_program",
    "flatten_inputs",
    "flatten_outputs",
    "register_container",
]
