"""Starts processes and proves their death: the launcher of drivers with its keeper, batches, locks, and the master
that gives cores.
"""
