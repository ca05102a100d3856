"""Items that the program makes one by one, a varying number of them: generators, `map`, `filter`.

`consumed.py` runs a generator together with what C code makes of its items (`sum`, `list`, `any`); `computed.py` has
what a `for` statement goes over where each item is computed at the beginning of its round.
Used by `control_flow/tracer.py`, `loops` and `lists`. Imports `loops/counted.py`, `lists` and the interpreter.
"""
