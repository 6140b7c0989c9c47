"""The bundled skills, and the lookup of skills by name."""
