"""strict=False: the same capture, with CPython running the program instead of the interpreter.

    frames.py    the program's frames, in the shape that the tracer knows
    machine.py   takes the interpreter's place: calls natively, answers some calls by the tracer's rules (doors)
    state.py     what the program may change, looked at before and after the run
    watch.py     calls that strict refuses, seen by a profile function
    tracer.py    the tracer of such a run, and what becomes of effects

What strict would have refused is let pass, where there is a program at all, and said in a note: "unsound here because".
"""
