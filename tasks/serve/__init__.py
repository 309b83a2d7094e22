"""The champion of a keep behind HTTP: forecasts that are logged before they are told."""
