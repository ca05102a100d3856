"""Guards: the conditions under which an exported program is right.

Sources (where a value was read from), guard kinds, and a guard set compiled to one function belong here. Shape guards
live in `symbolic_shapes` until a program carries both.
"""
