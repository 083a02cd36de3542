"""Tables of the project for notebooks, with and without a Spark session."""
