"""Screens as one self-contained page: nothing is loaded, everything that came from outside is escaped."""
