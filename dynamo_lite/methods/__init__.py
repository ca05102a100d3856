"""Several entry points of one model: a program for each, the weights once.

`methods.py` exports, saves and loads them, `compiled.py` runs them through AOTInductor, with one archive for all.
Called by users (`export_methods`, `load_methods`). Imports the front (`api`) and `program`.
"""

from dynamo_lite.methods.compiled import CompiledMethods, load_compiled_methods
from dynamo_lite.methods.methods import Method, Methods, export_methods, load_methods

__all__ = [
    "CompiledMethods",
    "Method",
    "Methods",
    "export_methods",
    "load_compiled_methods",
    "load_methods",
]
