"""Schema contracts: what producers promise to send, version by version, and which versions go together. Pure."""
