"""Plots: each kind of result to a figure, which is plain data, and figures to text, SVG or pixels."""
