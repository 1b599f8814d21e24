"""`python -m memetik.cli` is the same as `memetik`."""

from memetik.cli.app import main

main()
