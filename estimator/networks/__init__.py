"""A network as a graph, its training recipe, and the lowering of both to a workload."""
