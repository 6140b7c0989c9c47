"""The blocks that a step's instructions are built from, and the fences that write them in Markdown."""
