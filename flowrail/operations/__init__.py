"""What users can do, as functions on values. Every interface calls these."""
