"""Colours that stay apart for the colour-blind, on white and on near black."""

from __future__ import annotations

# After Okabe and Ito, "Color Universal Design" (2008), darkened until each has a contrast of at least
# 4.5 : 1 on white; the second row has at least 4.5 : 1 on #14171c. The first of each is for guides and text.
TONES = ("#333333", "#0072b2", "#b34a00", "#00735a", "#9c4a7d", "#6b5900")
DARK_TONES = ("#d0d0d0", "#56b4e9", "#f09a4a", "#2fc59b", "#e39fc8", "#f0e442")
