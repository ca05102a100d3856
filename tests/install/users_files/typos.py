"""A user's file in which type checkers find an error on each line marked so, and on no other. It is not run."""

import torch

import dynamo_lite

MODEL = torch.nn.Linear(2, 2)
ARGS = (torch.ones(3, 2),)
dynamo_lite.export(MODEL, ARGS, effects="dorp")  # typo
dynamo_lite.trace(MODEL, ARGS, control_flow="captured")  # typo
dynamo_lite.export(MODEL, ARGS, efects="drop")  # typo
dynamo_lite.draft_export(MODEL, ARGS, control_flow="none")  # typo
dynamo_lite.explain(MODEL, ARGS, control_flow="none")  # typo
dynamo_lite.export(MODEL, ARGS, dynamic_shapes={"input": {0: "batch"}})  # typo
dynamo_lite.export(MODEL, ARGS, dynamic_shapes="input")  # typo
print(dynamo_lite.export(MODEL, ARGS).note)  # typo
dynamo_lite.trace(MODEL, ARGS).guards.check(MODEL, ARGS, weights="all")  # typo
dynamo_lite.trace(MODEL, ARGS).explain(unfold="forms")  # typo
dynamo_lite.as_torch_export(fallback="eager")  # typo
dynamo_lite.Method(ARGS, options={"effects": "dorp"})  # typo
dynamo_lite.observe(MODEL).export(effect="drop")  # typo
dynamo_lite.allow(len, pure=False)  # typo
dynamo_lite.export(MODEL, 3)  # typo
