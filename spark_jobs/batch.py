"""Main of the batches: backfills, checks of published tables, replays. `batch.py --help` lists them."""

import sys

from sluice.launch.imports import loading_code

with loading_code():
    from sluice.spark.jobs.batch import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
