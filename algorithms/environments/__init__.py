"""The environments that algorithms run on: each owns its budget and computes the score."""
