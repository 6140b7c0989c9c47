"""What differs on macOS. `storage.files` uses this module there, and no other module asks for the system.

- `fsync` returns before the drive has written its cache; `F_FULLFSYNC` waits for it. Network volumes refuse it.
- Nothing else needs code. Names of files are compared without case, so a `skill.md` is found as on Linux. `/tmp` and
  `/var` are links, which real paths resolve. There is no `/dev/shm`, so `flow test` uses a temporary folder. Tests
  that need strace are skipped.
"""

from __future__ import annotations

import errno
import fcntl

#: `fcntl.F_FULLFSYNC`, which Python defines on macOS only.
F_FULLFSYNC = 51


def flush_drive(fd: int) -> None:
    """Write everything of *fd*, for which `fsync` was called, from the drive's cache to the drive."""
    try:
        fcntl.fcntl(fd, F_FULLFSYNC)
    except OSError as error:
        if error.errno not in {errno.EINVAL, errno.ENOTSUP, errno.ENOTTY}:  # such as network volumes
            raise
