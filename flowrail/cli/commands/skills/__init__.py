"""Commands that find, check, draw and install skills."""
