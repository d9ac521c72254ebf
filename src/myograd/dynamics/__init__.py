"""Kinematics, inertia, constraints, forward and inverse dynamics: functions `f(model, q, u, ...)`."""
