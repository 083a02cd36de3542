"""Placement of replicas: over any number of failure domains, with balanced leaders and few moves.

`planner` makes a plan and `check` proves it; they share only `topology` and `partition`.
"""
