"""Use cases: the only place where the rooms meet; draws nothing."""
