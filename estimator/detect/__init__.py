"""This machine: facts about its processors and memory, and findings for what stays unknown."""
