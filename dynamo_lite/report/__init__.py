"""A trace (or what `explain` found) as one self-contained HTML page, or as JSON.

`document.py` makes a plain dict; `page.py` makes the page of it, and adds nothing that is not in the dict.
"""
