"""How long a workload takes on a device: kernel cost, host, collectives, step to run, ranges."""
