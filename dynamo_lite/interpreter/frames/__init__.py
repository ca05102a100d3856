"""A call while it runs: frames, binding of arguments, generators, exceptions, tracebacks, class statements.

`frame.py` has the state of one call; `exceptions.py` unwinds to a handler; `tracebacks.py` shows the program's frames
as CPython would.
Used by `interpreter/vm.py` and the opcodes. Imports `interpreter/code` and the data model.
"""
