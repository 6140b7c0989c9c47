"""Files, locks and the journal."""
