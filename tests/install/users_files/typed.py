"""A user's file that type checkers accept: test_wheel.py copies it beside an installed wheel. It is not run."""

import torch
from torch.export import Dim

import dynamo_lite
from dynamo_lite import DynamicShapes, ExportOptions, Program

MODEL = torch.nn.Linear(2, 2)
ARGS = (torch.ones(3, 2),)
BATCH = Dim("batch", max=8)
SHAPES: DynamicShapes = {"input": {0: BATCH}}
OPTIONS: ExportOptions = {"effects": "exact", "strict": True}
program: Program = dynamo_lite.export(MODEL, ARGS, dynamic_shapes=SHAPES, **OPTIONS)
for text, frames in program.notes.items():
    print(text.upper(), len(frames))
trace = dynamo_lite.trace(MODEL, ARGS, dynamic_shapes=({0: 2 * BATCH, 1: None},), effects="drop")
print(trace.program.notes)
trace.guards.check(MODEL, ARGS, weights="any")
trace.explain(unfold=("form", "torch"))
draft = dynamo_lite.draft_export(MODEL, ARGS, control_flow="refuse", dynamic_shapes={"input": [Dim.AUTO, Dim.STATIC]})
dynamo_lite.export(MODEL, ARGS, dynamic_shapes={"x": (Dim.AUTO(min=2), None), "y": [{"a": {0: 2}}], "z": None})
methods = dynamo_lite.export_methods(MODEL, {"forward": dynamo_lite.Method(ARGS, options={"effects": "drop"})})
print(methods["forward"].notes)
with dynamo_lite.observe(MODEL) as seen:
    pass
print(seen.export(effects="drop").notes)
exported: torch.export.ExportedProgram = program
