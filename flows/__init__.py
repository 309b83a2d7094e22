"""What runs and when: Prefect flows and the command line."""
