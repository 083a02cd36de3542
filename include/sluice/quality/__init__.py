"""Quality: what makes a record good, quarantined, late or control, and which rows may be published."""
