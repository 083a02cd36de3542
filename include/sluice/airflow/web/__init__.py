"""Pages inside Airflow: the console, live outputs, and Markdown."""
