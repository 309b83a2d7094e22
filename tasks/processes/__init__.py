"""Child processes that end when they must."""
