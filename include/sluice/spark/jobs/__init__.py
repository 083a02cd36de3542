"""Mains of the processes that run Spark: a unit's driver, and batches. A project's `spark_jobs/` calls them."""
