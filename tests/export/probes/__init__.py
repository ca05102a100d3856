"""The probes, one file a subject."""
