"""The objects that a run touches: which are its own, what was read and written, snapshots, and putting them back."""
