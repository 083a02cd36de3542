#!/usr/bin/env bash
# Brings both databases up to date, then ends. Repeating it changes nothing.
set -euo pipefail
airflow db migrate
python -c 'from sluice.project import Project; from sluice.settings import settings; Project.open(settings()).registry()'
