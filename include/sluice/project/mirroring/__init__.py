"""Mirrors of a project: their process, how far it is behind, and the fail-over of a unit's streams."""
