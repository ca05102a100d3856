"""The results of operators, by rules on the metadata of their arguments, without running a kernel.

`table.py` is the front: it finds the rule of an operator and, with DYNAMO_LITE_SHADOW=1, compares it with torch's own.
The other files are families of operators; `operands.py` has the terms of the rules.
Called by `capture/fakes/known_results.py`. Imports `symbolic_shapes` (to prove relations of sizes) and
`capture/fakes/results.py`.
"""
