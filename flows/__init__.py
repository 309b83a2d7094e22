"""Command line, Prefect flows and schedules."""
