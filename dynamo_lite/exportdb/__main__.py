"""`python -m dynamo_lite.exportdb`."""

from dynamo_lite.exportdb.commands import app

if __name__ == "__main__":
    app(prog_name="python -m dynamo_lite.exportdb")
