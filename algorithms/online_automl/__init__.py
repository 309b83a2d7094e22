"""Our default for streams, and what every race of live models needs.

`race`, `racing`, `oracle` and `streaming` (the classes for examples that come one by one, which
`scikit` brings into scikit-learn's form) are shared with the paper's rules
(`leaseboard.algorithms.chacha`). The default's own rules are in `safe`, its nonlinear learners in
`members`, many classes in `one_vs_rest`. The learners that all races train are in
`leaseboard.algorithms.online`.
"""
