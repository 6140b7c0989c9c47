"""Reports for people: tables, histories, audits, findings."""
