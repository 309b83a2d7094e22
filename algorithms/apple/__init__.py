"""apple: adaptive polynomial expansion, its baselines, and its parallel form.

Read `apple` first (Algorithm 1, s_k and τ_k), then `update` (its formulae).

=================  ======================================================================
module             what
=================  ======================================================================
`apple`            Algorithm 1, and the registered algorithms: apple, linear, quadratic, cubic
`update`           the weight updates of line 4
`learner`          linear models over monomials; the order of line 6, provenance, growth
`expanders`        the kernels: dense and sparse rows expanded, learned, predicted
`plan`             the learner of dense rows
`hashed`           the learner of sparse rows, and its table
`sparse`           what learners of sparse rows share, and that of full expansions
`rates`            several learning rates at once, chosen by progressive validation
`rows`             rows checked, clipped and scaled; pairs of words; targets of classes
`parallel`         local choice, union of parents, averaged weights
`stage_poly`       VW's own implementation as a reference
`estimator`        scikit-learn estimators, with `classifier` and `rate_models`
`saved`            what a learner predicts with, as plain values
=================  ======================================================================
"""
