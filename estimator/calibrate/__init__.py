"""From measurements to efficiencies with their spread."""
