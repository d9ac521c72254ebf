"""One file per command: its options, and what it does with them.

Nothing here imports JAX, NumPy or plotly at the top, so that `myograd --help`, `info` and `check` answer at once. What needs
them is in `myograd.tools` and in the modules beside this folder, and is imported when the command runs.
"""
