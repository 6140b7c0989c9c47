"""Run sessions with headless agents: pools of workers on one machine or on many. Needs the extra `flowrail[fleet]`."""
