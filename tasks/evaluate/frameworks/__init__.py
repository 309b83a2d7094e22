"""Other frameworks on our data: each in an environment of its own, on our splits."""
