"""`python -m memetik.cli` is the same as `memetik`."""

from memetik.cli.app import main

if __name__ == "__main__":  # processes of a local cluster import this again
    main()
