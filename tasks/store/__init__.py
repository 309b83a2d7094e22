"""The one store: trials and probes that were computed, and the state of live models."""
