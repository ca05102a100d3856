"""The private torch API that dynamo_lite stands on: one file a concern, with the version that it was checked with."""
