"""Everything that runs inside a Spark driver."""
