"""The champion of a live model behind HTTP: predictions are logged before they are sent."""
