"""Layer types as real PyTorch modules, a family a file; imported only where PyTorch is installed."""
