"""The cases of ExportDB, one file each.

`case.py` describes a file's contents: a program, its outcome (the id of a graph break, at a marked line), and the
rewrite. Loaded by `exportdb/catalogue.py` by name. A case may import anything that a user's program may.
"""
