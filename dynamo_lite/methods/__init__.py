"""Several entry points of one model: a program for each, the weights once."""

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
