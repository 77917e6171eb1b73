"""Reading this host, or a recorded one, for any command that needs it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from estimator.errors import InputError

if TYPE_CHECKING:
    from estimator.detect.facts import HostFacts


def host_facts(root: Path | None) -> HostFacts:
    """Return the facts of this machine, or of the recorded tree at ``root``."""
    from estimator.detect import detect_host

    if root is None:
        return detect_host(root=Path("/"), environ=dict(os.environ))
    if not root.is_dir():
        raise InputError(
            f"--root: {str(root)!r} is not a folder", hint="name a folder with proc/ and sys/ in it"
        )
    return detect_host(root=root, environ={})
