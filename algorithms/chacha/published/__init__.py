"""ChaCha as published: the paper's text and its authors' programs, as rules of a race."""
