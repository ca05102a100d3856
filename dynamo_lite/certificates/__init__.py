"""The checker of certificate files: the standard library alone, neither torch nor the prover (docs/certificates.md).

    checker.py      replays each step of each proof
    floats.py       the laws of floats, for files that have floats in them
    files.py        a file of certificates, or a saved program, and what is printed of it
    cross_check.py  the same claims by z3, or by trying values
    __main__.py     the command line: `python -m dynamo_lite.certificates FILE`, or `python THIS_FOLDER FILE`

`symbolic_shapes/certificates` writes the files.
"""
