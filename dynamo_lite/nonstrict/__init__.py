"""strict=False: the same capture, with CPython running the program instead of the interpreter.

    frames.py            the program's frames, in the shape that the tracer knows
    native_runner.py     takes the interpreter's place: calls natively, answers some calls by the tracer's rules
    reachability.py      what the program may change, looked at before and after the run
    referenced_names.py  what a function can reach by the names in its code, looked at when it first runs
    opaque_state.py      state that is in no attribute and no container: iterators, generators, arrays, classes
    iterator_copies.py   copies that the run moves on in the place of iterators
    caches.py            functools.lru_cache
    process.py           settings of the process
    shared.py            tensors on the memory of arrays
    profile_hook.py      calls that strict refuses, seen by a profile function
    identity_checks.py   `is` and `__class__`, found in the bytecode
    type_shims.py        type(x), isinstance(x, C) and hash(x), answered for what a stand-in stands for
    class_names.py       the names of the classes of stand-ins, as errors show them
    interfaces.py        the tracer and the runner as the other files see them
    tracer.py            the tracer of such a run, and what becomes of effects

What strict would have refused is let pass, where there is a program at all, and said in a note: "unsound here because".

Called by `run` for strict=False, and by dynamo_lite.check. Imports `tracing`; nothing of strict imports it.
"""
