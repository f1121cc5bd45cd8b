"""What Spark's planner is given and shows."""
