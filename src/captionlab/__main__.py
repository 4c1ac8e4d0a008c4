"""Run the program `captionlab` as `python -m captionlab`."""

import sys

from captionlab.commands.main import main

sys.exit(main())
