"""Nonlinear members of the default: trees, neighbours, and their stack."""
