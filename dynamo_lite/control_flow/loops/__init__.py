"""Loops that go round while data says so: torch's while_loop, and scan.

`heads.py` decides what a loop becomes; `data_loop.py` runs a round until what it carries settles; `while_loop.py` and
`scan.py` write the operator.
Called by `control_flow/tracer.py` at the head of a loop. Imports the rest of control_flow, `interpreter/flow` and
`capture/graph`.
"""
