"""Screens: each turns one kind of result into blocks, the answer first."""
