"""Sluice runs streaming pipelines on Kafka, Spark and Airflow as one system."""

__version__ = "0.1.0"
