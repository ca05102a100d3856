"""What a callable that the interpreter cannot look into may do, and which modules are trusted to run natively.

`verdicts.py` has the terms, `callable_table.py` and `container_methods.py` the rows, `skipped_calls.py` the callables
by name that a rule answers, `native_modules.py` the trusted modules.
Asked by call plans, by trampolines and by strict=False. Imports `interpreter` alone, but for the kinds of reads.
"""
