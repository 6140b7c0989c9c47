"""How large documents may be. Every reader and writer of a document takes its limits from here.

A document within these limits is read within two seconds and 150 MB.
"""

from __future__ import annotations

YAML_BYTES = 256 * 1024
JSON_BYTES = 4 * 1024 * 1024
TEXT_BYTES = 64 * 1024
"""A `SKILL.md`, the instructions of a step, and questions that a sub-agent asks."""
PYTHON_BYTES = 128 * 1024
"""A Python module of a skill. Its syntax tree takes 700 times as much memory."""
PAYLOAD_BYTES = 1_000_000
"""The payload of a handoff."""
HOOK_INPUT_BYTES = 16_000_000
"""What a host passes to a hook."""

RECORD_BYTES = 8 * 1024 * 1024
"""A line of a journal."""
JOURNAL_BYTES = 256 * 1024 * 1024
CLOSING_BYTES = 2 * RECORD_BYTES
"""The end of a journal that stays free for the records that close it."""
DEFINITION_BYTES = 6 * 1024 * 1024
"""The workflow as a session uses it."""

DEPTH = 32
"""Lists and mappings inside each other."""
VALUES = 20_000
"""Values and keys in a YAML document, a payload, or one list or mapping of a record."""
JSON_VALUES = 200_000
"""Values and keys in other JSON: a list of facts may be long."""
INTEGER_DIGITS = 40
"""Digits of an integer; longer ones are texts."""
