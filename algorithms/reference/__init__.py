"""What a person tries first on a stream: forecasts that everything else has to beat."""
