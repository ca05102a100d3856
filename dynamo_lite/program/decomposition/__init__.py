"""`run_decompositions()`: the information that torch's decompositions of a program must not lose, or not receive.

`decompose.py` keeps sizes that vary, and makes guards of the decisions of decompositions; each other file is one kind
of input or structure that torch's passes take wrongly. Called by `exported_program.py` (and `input_check.py`, for
inputs that share memory). May import the packages that `program` may, and its trees and shapes.
"""
