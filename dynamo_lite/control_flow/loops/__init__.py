"""Loops whose end depends on data, as torch's while_loop or scan.

`heads.py` decides how a loop is captured; `data_loop.py` runs an iteration until the carried values settle;
`while_loop.py` and `scan.py` write the operator. Called by `control_flow/tracer.py` at the head of a loop. Imports the
rest of control_flow, `interpreter/flow` and `capture/graph`.
"""
