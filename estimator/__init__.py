"""Predict how long a neural network takes to train on given hardware, and say why."""

__version__ = "0.1.0"
