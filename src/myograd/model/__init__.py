"""The anatomy as data: `description` (plain, mirrors the file) and `model` (compiled, arrays for JAX)."""
