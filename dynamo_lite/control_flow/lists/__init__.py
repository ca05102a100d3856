"""Lists whose length is known at run time only: iterations of a loop append to them, or one side of a branch does.

| subject | file |
|---|---|
| such a list | grown.py |
| its contents: items, and those that iterations and sides added | parts.py |
| items of different lengths: the last chunk is shorter | ragged.py |
| `[x] * n`, `list(range(n))` | varying.py |
| operations on them: torch.stack, len(), x[keep] | uses.py |
| iterations that append to lists | growth.py |
| sides of a branch that append different numbers of items | unequal.py |
| replacing a list by such a list everywhere in the program | holders.py |
| buffers for the items that iterations add, if data may end the loop | buffers.py |

Called by the merge of a branch and by loops. Imports control_flow and `tracing/heap`.
"""
