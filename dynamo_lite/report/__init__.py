"""A trace (or what `explain` found) as one self-contained HTML page, or as JSON.

`document.py` collects the data of a page, a key for each part; `page.py` renders it with the template; the other
files make one part each.
Called by `Trace.report`, the command line and logging. Imports `guards`, `symbolic_shapes` and `exportdb.lookup`;
never a tracer.
"""
