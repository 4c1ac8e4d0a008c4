"""Run a training by TRL in each process that accelerate launches: `python -m captionlab.training.trl JOB.json`."""

import logging
import sys

from captionlab.training.trl.training import Job, run

if __name__ == "__main__":
    logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(asctime)s %(name)s: %(message)s")
    run(Job.read(sys.argv[1]))
