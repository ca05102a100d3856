"""One branch on data, or on sizes: both sides run to where they join, merged into one torch.cond.

| question | file |
|---|---|
| run both sides, merge them, continue after them; a side that raises | branch.py |
| where the sides join | joins.py |
| merging the two states there | side_ends.py |
| calls that end on both sides before they join | calls.py |
| a branch on the sizes of inputs | of_sizes.py |
| the whole program on both sides | whole_program.py |
| which item of a list Python takes | choices.py |
"""
