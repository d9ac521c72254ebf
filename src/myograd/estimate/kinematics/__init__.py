"""Motion from markers and sensors: the inverse kinematics of recordings."""
