"""What code a result was made by: the part of its key that says so."""
