"""The cases, one file each; dynamo_lite/exportdb/case.py says what a file holds."""
