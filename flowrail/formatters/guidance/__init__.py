"""A step as text, XML and JSON."""
