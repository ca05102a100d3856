"""What operators return for tensors of constant sizes, by rules on metadata. table.py is the front."""
