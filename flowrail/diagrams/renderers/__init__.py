"""A picture in each output format."""
