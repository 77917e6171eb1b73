"""Every layer a network can have: one family a file, one registered class a layer."""
