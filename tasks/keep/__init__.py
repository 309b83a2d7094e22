"""A winner that lives: what a kept model is told, takes in, and is watched by."""
