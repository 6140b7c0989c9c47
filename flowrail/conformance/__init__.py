"""What agents really did: transcripts of hosts, judged by the guards and order rules of a workflow."""
