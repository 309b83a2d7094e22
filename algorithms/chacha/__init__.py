"""ChaCha (Wu et al., ICML 2021), its ablations and the baselines that its paper compares with."""
