"""ABC: the approximate best configuration on large data, and what it is compared with.

Huang, Wang, Ding, Chaudhuri. ABC: efficient selection of machine learning configuration on
large dataset. AAAI 2019, as "Efficient identification of approximate best configuration of
training in large datasets".

- `algorithms.abc_selection.selection`: Algorithms 1 and 2, the selection itself.
- `algorithms.abc_selection.bounds`: Theorems 1 and 2, and tighter intervals that are valid too.
- `algorithms.abc_selection.schedulers`: Algorithm 3 (GradientCI), UCB and RoundRobin.
- `algorithms.abc_selection.baselines`: Full-run, successive halving, a random choice.
- `algorithms.abc_selection.cross_validation`: for small tables, cross-validation that drops early.
- `algorithms.abc_selection.daub`: DAUB.
- `algorithms.abc_selection.simulation`: learners that meet the assumptions exactly.
- `algorithms.abc_selection.calibration`: how often the truth left its interval, and why.
"""
