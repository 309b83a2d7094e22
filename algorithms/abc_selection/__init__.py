"""ABC: the approximate best configuration on large data, and what it is compared with.

Huang, Wang, Ding, Chaudhuri. ABC: efficient selection of machine learning configuration on
large dataset. AAAI 2019, as "Efficient identification of approximate best configuration of
training in large datasets".

- `leaseboard.algorithms.abc_selection.selection`: Algorithms 1 and 2, the selection itself.
- `leaseboard.algorithms.abc_selection.bounds`: Theorems 1 and 2, and tighter intervals.
- `leaseboard.algorithms.abc_selection.schedulers`: Algorithm 3 (GradientCI), UCB and RoundRobin.
- `leaseboard.algorithms.abc_selection.baselines`: Full-run, successive halving, a random choice,
  DAUB.
"""
