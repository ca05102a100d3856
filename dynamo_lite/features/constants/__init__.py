"""Inputs by value: `export(..., constants={"grid": None})`.

`declared.py` finds the inputs that the option names, and refuses what cannot be one. During a run the data of such an
input is known (`capture/constant_values.py`), so that Python code that reads it gets the example's, and the value is a
guard of the program (`program/shapes/value_guards.py`). The input stays an input.
"""
