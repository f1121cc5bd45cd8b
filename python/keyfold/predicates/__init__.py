"""Conditions on rows: decoded, evaluated on batches, on partitions and on statistics."""
