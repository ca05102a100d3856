"""One file a class of programs; the first line of its docstring is the name of the class.

The programs are probes (tests/export/probe.py says what the decorators mean).
"""
