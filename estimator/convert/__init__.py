"""Other people's formats to our networks."""
