"""Functions on symbolic tensors, as frameworks have them: each leaves its forward and backward kernels."""
