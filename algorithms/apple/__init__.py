"""apple: adaptive polynomial expansion, its baselines, and its parallel form.

Read `apple` first (Algorithm 1, s_k and τ_k), then `learner`.

=============  ==========================================================================
module         what
=============  ==========================================================================
`apple`        Algorithm 1, and the registered algorithms: apple, linear, quadratic, cubic
`learner`      linear models over monomials; the order of line 6, provenance, growth
`kernel`       the weight update of line 4; dense and sparse rows expanded, and learned
`rows`         rows checked, clipped and scaled; pairs of words; targets of classes
`parallel`     local choice, union of parents, averaged weights; VW's own implementation
=============  ==========================================================================
"""
