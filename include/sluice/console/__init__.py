"""The console: pages that say what is, and what to do. A web application, mounted by Airflow or standalone."""
