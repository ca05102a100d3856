"""`python -m dynamo_lite.lab`."""

from dynamo_lite.lab.commands import app

if __name__ == "__main__":
    app(prog_name="python -m dynamo_lite.lab")
