"""Several entry points of one model: a program for each, the weights once."""

from dynamo_lite.methods.methods import Method, Methods, export_methods, load_methods

__all__ = ["Method", "Methods", "export_methods", "load_methods"]
