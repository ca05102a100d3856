"""torch's ShapeEnv protocol, answered by ours.

`env.py` has torch's names, bound to the parts that do the work: `decisions.py` answers questions, `recording.py`
makes facts of them, `unbacked.py` symbols for results that only run time knows.
torch's kernels and the recorder call it through FakeTensors. Imports `torch_node` and `ShapeEnv`.
"""
