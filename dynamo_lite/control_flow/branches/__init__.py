"""One branch on data: both sides run to where they join, merged into one torch.cond.

| question | file |
|---|---|
| run both sides, merge them, go on behind; a side that raises | branch.py |
| where the sides join | joins.py |
| the two states there as one | side_ends.py |
| calls that end on both sides before they join | calls.py |
| which item of a list Python takes | choices.py |
"""
