"""How figures are drawn: plotly specifications as plain data, and pictures without scripts."""
