"""`run_decompositions()`: what torch's decompositions of a program are kept from losing, and from being given.

`decompose.py` keeps sizes that vary, and makes guards of what the decompositions decide; each other file is one kind of
input or structure that torch's passes take wrongly. Called by `exported_program.py` (and `input_check.py`, for inputs
that share memory). May import what `program` may, and its trees and shapes.
"""
