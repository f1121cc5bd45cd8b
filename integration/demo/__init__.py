"""The demo: a year of flights, folded and checked."""
