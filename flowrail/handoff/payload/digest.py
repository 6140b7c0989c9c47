"""The digest of a payload's file."""

from flowrail.errors import DocumentError
from flowrail.storage import files
from flowrail.storage.files import sha256_hex
from flowrail.text import size_limits


def digest_of(path: str) -> str:
    """Return the digest of a payload's file, or an empty text if it cannot be read."""
    try:
        return sha256_hex(files.read_bounded(path, limit=size_limits.PAYLOAD_BYTES, what="the payload"))
    except DocumentError:
        return ""
