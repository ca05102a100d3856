"""Rules for sizes in Python code: what stays symbolic, what takes the number, what only run time knows.

`builtin_calls.py` and `math_functions.py` answer calls, `number_methods.py` makes SymInts answer as ints,
`native_arguments.py` prepares arguments of C code, `data_dependent_errors.py` words the error of a question that data
decides.
Called through the registry of rules and by the tracer. Imports `tracing/vocabulary` and `symbolic_shapes`.
"""
