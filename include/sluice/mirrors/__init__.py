"""Mirrors between two clusters: what MirrorMaker is told, how far it is behind, and where a stream goes on. Pure."""
