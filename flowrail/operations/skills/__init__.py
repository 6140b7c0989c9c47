"""Check, preview, draw, trust and measure skills."""
