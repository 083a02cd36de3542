"""Following a live source: its events become records of a topic, with a cursor from which it goes on."""
