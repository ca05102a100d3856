"""`ExportedProgram.module()` after export: conversions of its dtypes and device, its mode, copies and pickles.

`program_module.py` is the module's class; `conversion.py` and `modes.py` export again, by the `recipe.py`, where a
conversion changes the program.
Called by torch and users through the program. Imports `program` and its trees; the front only when a program is made
again.
"""
