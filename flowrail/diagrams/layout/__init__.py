"""Place the nodes, labels and lines of a picture."""
