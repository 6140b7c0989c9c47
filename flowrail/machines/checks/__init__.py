"""Findings about a workflow: data flow, loops, values, delegation and prose."""
