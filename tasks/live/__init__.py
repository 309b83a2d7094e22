"""Live models: registered models that predict, learn, are monitored and replaced."""
