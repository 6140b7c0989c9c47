"""The document that a handoff passes on: build, validate, convert and write it."""
