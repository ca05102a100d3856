"""The wheel, installed outside of the repository."""
