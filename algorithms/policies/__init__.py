"""Policies over arms: the baselines of Rising Bandits and of ER-UCB, on one environment."""
