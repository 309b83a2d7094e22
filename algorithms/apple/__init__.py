"""apple: adaptive polynomial expansion, its baselines, and its parallel form.

Read `apple` first (Algorithm 1), then `sizes`, `heuristics` and `update` (its formulae).

=================  ======================================================================
module             what
=================  ======================================================================
`apple`            Algorithm 1, and the registered algorithm
`sizes`            s_k and τ_k
`heuristics`       the order of line 6
`update`           the weight updates of line 4
`monomials`        identity and names of monomials
`learner`          a linear model over monomials; `growing`: provenance, the choice of parents
`plan`             the kernel for dense rows
`hashed`           the kernel for sparse rows
`reference`        the same over dictionaries, slow, for tests
`rates`            several learning rates at once, chosen by progressive validation (`entrants`)
`class_learners`   three and more classes
`polynomial`       linear, quadratic, cubic
`full`             the kernel of the latter for sparse rows
`ngrams`           pairs of words as base features: bigram
`parallel`         local choice, union of parents, averaged weights (`averaging`)
`stage_poly`       VW's own implementation as a reference
`scaling`          columns clipped and standardised
`estimator`        scikit-learn estimators, with `classifier` and `rate_models`
=================  ======================================================================
"""
