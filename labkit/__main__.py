"""Lets `python -m labkit` do what `labkit` does."""

from labkit.cli import main

raise SystemExit(main())
