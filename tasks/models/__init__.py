"""What a run found, kept as a model: fitted, saved without pickles, registered and served."""
