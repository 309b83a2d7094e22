"""Values that are computed once and replayed: trials of arms and probes of configurations."""
