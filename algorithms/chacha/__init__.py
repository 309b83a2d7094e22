"""ChaCha (Wu et al., ICML 2021), its ablations and the baselines that its paper compares with.

A `race` is what all of it is: `chacha` is our default, by the rules of `safe`; `published` has the
paper's boxes and its authors' programs, `baselines` the fixed sets. `oracle` and `flow2` propose
configurations, and `streaming` holds the classes for examples that come one by one, which `scikit`
brings into scikit-learn's form. The learners that all of them train are in
`leaseboard.algorithms.online`.
"""
