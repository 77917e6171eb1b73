"""What work one training step is: kernels, layers, collectives; knows no hardware."""
