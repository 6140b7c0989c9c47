"""Read YAML and JSON, fill placeholders, and make foreign text safe to print."""
