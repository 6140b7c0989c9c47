"""What a workflow is: steps, outcomes, parameters, questions, gates, and its schema."""
