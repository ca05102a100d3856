"""`python -m dynamo_lite`: export, explain, check, report, doctor and exportdb.

`app.py` has the commands, `targets.py` and `inputs.py` read their arguments, `records.py` makes the output, as text or
as JSON. Called by `dynamo_lite/__main__.py` alone. Imports the front (`api`, `checking`, `explanation`, `doctor`), when
a command runs.
"""
