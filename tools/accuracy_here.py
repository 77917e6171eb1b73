"""Writes docs/accuracy-here.md: `python tools/accuracy_here.py docs [--seconds 6] [--cpu-time|--wall]`."""

from __future__ import annotations

import argparse
import sys
from datetime import UTC, datetime
from pathlib import Path

from estimator.app.here_accuracy import accuracy_here, is_busy
from estimator.cli.host import host_facts
from estimator.cli.output import save
from estimator.report.accuracy_here import accuracy_here_page


def main() -> None:
    """Measure, compare and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=Path("docs"))
    parser.add_argument("--seconds", type=float, default=6.0, help="a network, batch and round")
    parser.add_argument("--rounds", type=int, default=2)
    clock = parser.add_mutually_exclusive_group()
    clock.add_argument("--cpu-time", action="store_true", help="one thread's processor time")
    clock.add_argument("--wall", action="store_true", help="the clock, all cores; default on a quiet machine")
    asked = parser.parse_args()
    found = accuracy_here(
        host_facts(None),
        seconds=asked.seconds,
        rounds=asked.rounds,
        cpu_time=asked.cpu_time or (is_busy() and not asked.wall),
        progress=_say,
    )
    page = accuracy_here_page(found, datetime.now(tz=UTC).date().isoformat())
    save(asked.folder / "accuracy-here.md", page)


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")


if __name__ == "__main__":
    main()
