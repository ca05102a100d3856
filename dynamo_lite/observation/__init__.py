"""The sizes that occur in real calls, and the dynamic_shapes that hold for all of them.

`observation.py` records a module's calls, `form.py` sorts them by properties other than sizes, `relations.py` finds
relations of sizes. Called by users (`observe`). Imports the front (`api`) and `program`.
"""

from dynamo_lite.observation.observation import Form, Observation, observe

__all__ = ["Form", "Observation", "observe"]
