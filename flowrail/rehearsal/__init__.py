"""Workflows tried out: walks run through the real machine, store and formatters, and what became of them.

stage       where commands of a walk run: in this process
process     the same as processes of their own
judging     what must hold of every answer
playing     one walk, played on a stage
rehearse    all walks of all workflows asked for
coverage    ways taken, of walks or of kept sessions
covered     the same told, and drawn
run         a run in memory, one call a move
items       skills as tests of pytest
strategies  workflows, sessions and acts for Hypothesis
junit       the results as a JUnit document
recording   a kept session as a script of turns
as_test     such a script as a test in Python
replaying   the same run against today's workflow
replayed    that for many sessions, and told
"""
