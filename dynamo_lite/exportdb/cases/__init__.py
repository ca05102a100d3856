"""The cases of ExportDB, one file each.

`dynamo_lite/exportdb/case.py` says what a file holds: a program, what becomes of it (an id of a refusal, at a marked
line), and the rewrite.
Loaded by `exportdb/catalogue.py` by name. A case may import anything that a user's program may.
"""
