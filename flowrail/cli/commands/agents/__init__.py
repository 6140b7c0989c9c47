"""Commands for sub-agents, questions and reviews."""
