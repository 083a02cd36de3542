"""The embedded Airflow: its configuration, its health and the client of its API."""
