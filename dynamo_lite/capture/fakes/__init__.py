"""FakeTensors: making them, the mode that they live in, and remembering what operators return.

`fake_tensors.py` makes the stand-in of a tensor; `static_cache.py` and `symbolic_cache.py` keep operators' results,
and `known_results.py` asks both.
Called by the recorder (`capture/recorder.py`) and by rules about tensors. Imports `symbolic_shapes.torch_env` and, of
capture, errors, protocols and operator rules; never the recorder.
"""
