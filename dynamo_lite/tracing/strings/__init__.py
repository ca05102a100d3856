"""Values of the program that are not known until they are used, or must not be used.

`deferred_str.py` is a string that is made when it is read; `discarded.py` determines whether anything will read it;
`nondeterministic.py` represents values that differ in each call. Used by the tracer and by features (`features/texts`,
`features/identity`, `features/randomness`). Imports `tracing/vocabulary`, `tracing/policy` and `interpreter`.
"""
