"""Profiles on disk: reading them safely and finding them by name."""
