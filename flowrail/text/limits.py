"""How large a document may be. Every reader of YAML and JSON takes its limits from here.

A document within these limits is read within two seconds and 150 MB, whatever it contains.
"""

from __future__ import annotations

YAML_BYTES = 256 * 1024
JSON_BYTES = 4 * 1024 * 1024
DEPTH = 32
"""Lists and mappings inside each other."""
VALUES = 20_000
"""Values and keys in a YAML document or a payload."""
JSON_VALUES = 200_000
"""Values and keys in other JSON: a list of facts may be long."""
INTEGER_DIGITS = 40
"""Digits of an integer; longer ones are texts."""
