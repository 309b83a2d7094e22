"""Data: references, sources, mirrors, digests and the cache."""
