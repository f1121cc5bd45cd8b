"""One table of conversions: what each column type takes, whichever form the rows come in.

Values of Python become arrays of the Arrow type that holds them as they are (`python`); arrays of
Arrow become those of the column's type (`atoms`, `nested`). So there is one rule for each pair of
types. Where Spark's INSERT takes a value too, both store the same.
"""
