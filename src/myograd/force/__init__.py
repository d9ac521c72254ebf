"""Force laws other than muscles, one class of OpenSim per file: its numbers, what it acts on, how it is made from a
description and written back, and its physics. A law knows frames and how they move, and nothing of the tree that moves them."""
