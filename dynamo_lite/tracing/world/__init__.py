"""Reads of what is outside of the process, or differs from call to call: ids, clocks, seeded generators.

`unique_values.py`: keys; `seeded_draws.py`: what a torch.Generator draws.
Called by `tracing/calls/registry.py`, `native_calls.py`, `tracing/node_metadata.py`, and what asks for classes and
hashes. Imports `tracing/calls/run_native.py`, `tracing/strings`, `tracing/tensors/input_guards.py`, `capture/graph`.
"""
