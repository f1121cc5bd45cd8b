"""keyfold on clusters and object stores: real processes of Spark, wheels, archives, S3."""
