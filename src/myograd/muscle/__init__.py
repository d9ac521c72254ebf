"""Muscle paths and their leverage; contraction, activation and EMG follow."""
