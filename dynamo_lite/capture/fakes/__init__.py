"""FakeTensors: creating them, their mode, and caches of operators' results.

`fake_tensors.py` creates the fake tensor of a tensor; `static_cache.py` and `symbolic_cache.py` keep operators'
results, and `known_results.py` looks in both.
Called by the recorder (`capture/recorder.py`) and by rules about tensors. Imports `symbolic_shapes.torch_env` and, of
capture, errors, protocols and operator rules; never the recorder.
"""
