"""Output formats: each turns a screen, or a result, into text."""
