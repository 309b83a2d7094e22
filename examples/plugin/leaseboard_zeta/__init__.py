"""Plugin of Leaseboard: the zeta-policy."""
