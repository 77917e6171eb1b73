"""The network language: documents become network graphs."""
