"""Stacks and tracebacks that a program looks at have the frames that they have in eager.

A call of a module runs `forward` without the frames of nn.Module's own functions (features/modules). Where the program
could see that (sys._getframe, the traceback module, `tb_next`), `hidden_frames.py` ends the run, and it is made again
with these functions interpreted.
"""
