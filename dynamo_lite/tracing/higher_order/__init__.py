"""Rules for calls that are given functions: control flow, transforms, checkpoints. One file per family."""
