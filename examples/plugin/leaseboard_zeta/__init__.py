"""Plugin of Leaseboard: the zeta-policy, and a metric."""
