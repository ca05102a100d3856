"""The observer of the interpreter: reads, writes, calls and branches of the traced program.

`tracer.py` has the hooks; a feature's response to a call, a read or a write is a row of `calls/plans.py`,
`read_plans.py` or `write_plans.py`; `interfaces.py` is the tracer as features see it. Made by `run/run.py` for each
run. Imports `interpreter`, `capture`, `program`, `guards`; no feature imports `tracer.py`.
"""
