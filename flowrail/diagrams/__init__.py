"""A workflow as a picture, a table."""
