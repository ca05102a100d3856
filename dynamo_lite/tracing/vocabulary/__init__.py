"""Terms that all of tracing uses.

Tests of types, contents of containers, the program's position (`program_points.py`), which exceptions a frame catches
(`exception_handlers.py`), which instructions only raise (`asserted_branches.py`), how values are displayed, settings of
the process, and the table of graph breaks. Used by every package of tracing, and by run, control_flow and nonstrict.
Imports no feature.
"""
