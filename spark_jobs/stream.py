"""Main of a streaming driver. A launcher starts it; `sluice streams start` is the way to ask for one."""

import sys

from sluice.spark.jobs.stream import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
