"""Load a workflow from a skill folder, in YAML or Python."""
