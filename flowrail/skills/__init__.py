"""The bundled skills, and how any skill is found by its name."""
