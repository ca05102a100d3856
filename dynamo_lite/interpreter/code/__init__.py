"""From a code object to handlers: decoding, the normal form of instructions, names and markers.

`decode.py` makes, once for each code object, the table of (handler, argument) that the loop runs; `normal_form.py`
maps the instructions of CPython 3.11 to 3.14 to one set.
Used by all of the interpreter, and where tracing looks at bytecode. Imports the standard library, and
`datamodel/trampoline_code.py` for the code under a trampoline.
"""
