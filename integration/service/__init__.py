"""A web service that looks keys up in a table while others write to it."""
