"""What makes a record good, quarantined, late or control, as a typed catalogue of reasons."""
