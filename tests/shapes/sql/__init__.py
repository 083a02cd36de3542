"""Some of the shapes in SQL. A project of the tests has these files in its package `transforms`."""
