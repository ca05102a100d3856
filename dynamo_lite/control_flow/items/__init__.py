"""Items that the program makes one by one, a varying number of them: generators, `map`, `filter`.

`consumed.py` runs a generator together with the C code that consumes its items (`sum`, `list`, `any`); `computed.py`
has the iterations of a `for` statement in which each item is computed at the beginning of its iteration. Used by
`control_flow/tracer.py`, `loops` and `lists`. Imports `loops/counted.py`, `lists` and the interpreter.
"""
