"""ChaCha (Wu et al., ICML 2021), its ablations and the baselines that its paper compares with.

`presets` names the rules of the paper's text and of its authors' programs, and the fixed sets, and
`published_race` is the race by any of them. The state that a race has, the oracle and
the classes for streams are those of `leaseboard.algorithms.online_automl`.
"""
