"""Rotations, rigid transforms, screws, piecewise polynomials, wrapping surfaces. Knows nothing of bodies."""
