"""Rows and keys in the forms in which a program gives and takes them."""
