"""Questions about records and tables: quarantine, profiles, drift, duplicates and quality."""
