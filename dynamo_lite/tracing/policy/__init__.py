"""The effects of callables that the interpreter cannot look into, and the modules that are trusted to run natively.

`verdicts.py` has the terms, `callable_table.py` and `container_methods.py` the rows, `skipped_calls.py` the callables
by name that a rule answers, `native_modules.py` the trusted modules. Used by call plans, by trampolines and by
strict=False. Imports only `interpreter`, and the kinds of reads.
"""
