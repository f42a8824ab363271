"""Connections and runs: what is configured, and one pull of it into the store."""
