"""Rules about suites: which pipeline one guards, and what it may expect of records and of intervals."""
