"""Rules for text: made of sizes and tensors, discarded, printed, or different from call to call.

`deferred_str.py` is a string that is made when it is read; `discarded.py` determines whether anything will read it;
`nondeterministic.py` represents values that differ in each call. Called through the registry of rules and by the
tracer. Imports `tracing/vocabulary`, `tracing/policy` and `interpreter`.
"""
