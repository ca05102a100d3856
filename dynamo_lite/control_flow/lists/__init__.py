"""Lists whose length only run time knows: rounds of a loop add to them, or one side of a branch does.

| what | file |
|---|---|
| such a list | grown.py |
| what it holds: items, and what rounds and sides added | parts.py |
| items of unlike lengths: the last chunk is shorter | ragged.py |
| `[x] * n`, `list(range(n))` | made.py |
| what a program does with it: torch.stack, len(), x[keep] | uses.py |
| rounds that add to lists | growth.py |
| sides of a branch that add unlike numbers of items | unlike.py |
| putting such a list everywhere where the program holds it | holders.py |
| room for what rounds add, where data may end the loop | buffers.py |

Called by the merge of a branch and by loops. Imports control_flow and `tracing/heap`.
"""
