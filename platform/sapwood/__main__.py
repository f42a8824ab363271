"""`python -m sapwood`."""

from sapwood.cli.app import main

main()
