"""The FX graph under construction: nodes, placeholders, sub-graphs, sizes as nodes.

`writer.py` writes nodes, `graph_inputs.py` lifts tensors that existed before the run, `subgraphs.py` keeps the stack of
`Level`s, of which the recorder writes to the innermost. `Recorder` is made of the first two; `control_flow` and
`tracing/higher_order` enter levels. Imports `capture/fakes` and the protocols of `capture/interfaces.py`; never the
recorder.
"""
