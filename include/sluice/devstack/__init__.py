"""One machine: doctor, jars, embedded broker and Airflow, and the keeper that holds a driver."""
