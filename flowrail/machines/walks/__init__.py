"""Walk through a workflow with generated inputs."""
