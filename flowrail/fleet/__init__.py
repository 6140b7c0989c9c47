"""Run sessions with headless agents: workers on one machine or on many. Needs the extra `flowrail[fleet]`."""
