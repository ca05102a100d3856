"""Weak references and `__del__`: whether the program sees when objects die.

`tracing/heap/lifetimes.py` follows the objects of a run, `dying_objects.py` those from before it that eager lets go of.
A program that could see the difference is refused (`object-lifetime`).
"""
