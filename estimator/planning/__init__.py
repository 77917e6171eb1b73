"""Prices, energy, renting or buying, and the choice between systems."""
