"""How one step touches the world: fetch, preprocess, run, score, track, report."""
