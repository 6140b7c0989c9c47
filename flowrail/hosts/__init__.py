"""What flowrail knows about Claude Code, Codex and other hosts: settings, folders, hook protocol, agents."""
