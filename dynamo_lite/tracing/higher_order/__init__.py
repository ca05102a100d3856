"""Rules for calls that are given functions: control flow, transforms, checkpoints. One file per family.

`table.py` maps callables to rules; `subgraph.py` interprets a function into a sub-graph, which most of the rules do.
Called through the registry of rules (`tracing/calls/registry.py`). Imports `capture/graph`, `tracing/heap` and
`tracing/effects`.
"""
