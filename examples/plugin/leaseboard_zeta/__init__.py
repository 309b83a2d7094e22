"""Plugin of Leaseboard: the zeta-policy, and one of every other kind of plugin."""
