"""Values as text: XML for agents, text for people, JSON for programs."""
