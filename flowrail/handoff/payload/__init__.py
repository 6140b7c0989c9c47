"""The document that a handoff passes on: build, validate, convert and store it."""
