"""print(), warnings and logging: skipped with a note, unless the program reads the output.

`printing.py` has the rules of print() and warnings, `log_calls.py` those of logging. `listeners.py` finds the handlers,
filters and hooks that would have received skipped output: if the program reads their state, the program is refused when
the run is over.
"""
