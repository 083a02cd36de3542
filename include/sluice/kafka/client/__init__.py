"""How one connects to Kafka: sessions, logins and credentials, in Python and in Java."""
