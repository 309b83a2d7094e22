"""Nonlinear members of the default: trees, Fourier features, neighbours, and their stack."""
