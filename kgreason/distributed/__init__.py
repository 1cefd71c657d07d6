"""The same computations on Apache Spark: on the cores of several machines."""
