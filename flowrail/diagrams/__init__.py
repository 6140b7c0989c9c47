"""Pictures, tables and documents of workflows and sessions."""
