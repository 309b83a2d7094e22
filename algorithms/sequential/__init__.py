"""Which of two forecasters is better, decided at every moment one looks.

- `leaseboard.algorithms.sequential.duel`: champion against challenger, for losses without a known
  bound.
"""
