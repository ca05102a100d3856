"""What tells two values of a branch apart: constants beyond `==`, tensors beyond their numbers, layouts, sizes.

`answers.py` keeps what the sides may differ in, and refuses where the program asks about it later.
Called where two sides are merged (`control_flow/merge.py`). Imports `tracing/vocabulary` and `tracing/tensors`,
`capture/fakes`, `symbolic_shapes`.
"""
