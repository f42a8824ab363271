"""The hot path: clean, chunk, score, commit. No model is called here."""
