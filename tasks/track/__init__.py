"""MLflow runs of suites, jobs and configurations."""
