"""Compaction, rescaling, expiry and what they leave behind."""
