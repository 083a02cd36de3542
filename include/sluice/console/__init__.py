"""The console: pages that say what is, and what to do. A web application that Airflow mounts, or that stands alone."""
