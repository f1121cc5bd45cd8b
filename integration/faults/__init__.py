"""Killed processes, damaged bytes, concurrent writers, histories."""
