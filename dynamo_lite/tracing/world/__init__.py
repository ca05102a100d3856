"""Reads of state outside of the process, or that differs from call to call: ids, clocks, seeded generators.

`unique_values.py`: keys; `seeded_draws.py`: numbers drawn from a torch.Generator. Called by
`tracing/calls/registry.py`, `native_calls.py`, `tracing/node_metadata.py`, and by queries of classes and hashes.
Imports `tracing/calls/run_native.py`, `tracing/strings`, `tracing/tensors/input_guards.py`, `capture/graph`.
"""
