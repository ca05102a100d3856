"""print(), warnings and logging: skipped with a note, unless the program reads what is said.

`printing.py` has the rules of print() and warnings, `log_calls.py` those of logging. `listeners.py` knows the handlers,
filters and hooks that would have received what was skipped: where the program reads their state, the program is refused
when the run is over.
"""
