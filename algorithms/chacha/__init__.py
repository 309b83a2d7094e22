"""ChaCha (Wu et al., ICML 2021), its ablations and the baselines that its paper compares with.

`chacha` is what the registry calls by that name; it runs either the rules of `published`, the
paper's boxes and its authors' programs, or those of `safe`, our default. `oracle` and `flow2`
propose configurations to both, `baselines` and `autovw` are what they are compared with, and
`streaming` holds the classes for examples that come one by one. The learners that all of them
train are in `algorithms.online`.
"""
