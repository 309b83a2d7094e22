"""Race of the default: many live models, paired tests, and a mixture that stays near baselines."""
