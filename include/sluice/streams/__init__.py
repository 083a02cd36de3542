"""The life of a stream: identity, attempts, claims and verdicts. Plain Python; the ports to the world are Protocols."""
