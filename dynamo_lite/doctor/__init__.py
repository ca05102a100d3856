"""`python -m dynamo_lite doctor`: torch's private API in the installed torch, and its behaviour.

    tables.py      the rows of every file `_torch*.py`, read from the sources
    names.py       the names of torch's that other tables hold as text
    resolve.py     the object behind a name in the installed torch: its kind and its signature
    manifest.py    the meaning of the names in each version that was checked (manifests/*.json)
    contracts.py   behaviour that an existence check does not find, with the expected answer for each version
    report.py      the examination as a list of findings, and as text

Nothing here is imported by an export.
"""
