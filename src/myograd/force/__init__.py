"""Forces other than muscles, and what all forces together do to the motion."""
