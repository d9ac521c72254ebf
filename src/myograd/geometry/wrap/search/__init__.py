"""Where one segment touches one surface: found by branching and iterating, so written for one segment and compiled by Numba.

XLA works on arrays, and would pay for every surface of a model at every pose; few are touched. What is found here is a
decision and a root, which JAX takes as given: `geometry.wrap_*` compute the arc from it, with derivatives.
"""
