"""Measurements of speed: ``python -m tests.benchmarks`` (or ``make bench``) prints one table."""
