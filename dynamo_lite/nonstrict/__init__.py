"""strict=False: the same capture, with CPython running the program instead of the interpreter.

    frames.py            the program's frames, in the form that the tracer uses
    native_runner.py     replaces the interpreter: calls natively, applies the tracer's rules to some calls
    reachability.py      the objects that the program may change, compared before and after the run
    referenced_names.py  the objects that a function can reach by the names in its code, found when it first runs
    opaque_state.py      state that is in no attribute and no container: iterators, generators, arrays, classes
    iterator_copies.py   copies that the run advances instead of the iterators
    caches.py            functools.lru_cache
    process.py           settings of the process
    shared.py            tensors on the memory of arrays
    profile_hook.py      calls that strict refuses, seen by a profile function
    identity_checks.py   `is` and `__class__`, found in the bytecode
    type_shims.py        type(x), isinstance(x, C) and hash(x) of fake tensors and symbolic sizes, as in eager
    class_names.py       the names of the classes of fake tensors and symbolic sizes, as errors show them
    interfaces.py        the protocols of the tracer and the runner for the other files
    tracer.py            the tracer of such a run, and the treatment of effects

Where strict mode rejects a program, the trace goes on if possible, with a note: "unsound here because".

Called by `run` for strict=False, and by dynamo_lite.check. Imports `tracing`; nothing of strict imports it.
"""
