"""Real measurements on this machine: probes and training steps."""
