"""Other people's AutoML systems as peers: each in an environment of its own, on our splits."""
