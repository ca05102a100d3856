"""Differences between two values of a branch: constants beyond `==`, tensors beyond their numbers, layouts, sizes.

`answers.py` records the properties in which the sides may differ, and rejects later queries of them. Called where two
sides are merged (`control_flow/merge.py`). Imports `tracing/vocabulary` and `tracing/tensors`, `capture/fakes`,
`symbolic_shapes`.
"""
