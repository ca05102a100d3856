"""`python -m dynamo_lite doctor`: what of torch's private API the installed torch has, and how it behaves.

    tables.py      the rows of every file `_torch*.py`, read from the sources
    names.py       the names of torch's that other tables hold as text
    resolve.py     what a name stands for in the installed torch: its kind and its signature
    manifest.py    what the names stood for in each version that was checked (manifests/*.json)
    contracts.py   behaviour that an existence check does not find, with the expected answer for each version
    report.py      the examination as a list of findings, and as text

Nothing here is imported by an export.
"""
