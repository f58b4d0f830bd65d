"""``python -m penstock``: the command line."""

from penstock.cli.main import run

if __name__ == "__main__":
    run()
