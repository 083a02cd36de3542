"""Who did what: a record of each act that changes something, on the disk of the machine where it was done."""
