"""The command ``penstock`` from its first moment on: Ctrl-C while it is still loading ends it, without a traceback.

It lies outside of the package because the package itself takes a while to load.
"""

import signal


def run() -> None:
    """Load the commands, with nothing to finish if a signal comes meanwhile, and run one."""
    heeded = signal.getsignal(signal.SIGINT) is not signal.SIG_IGN
    before = signal.signal(signal.SIGINT, signal.SIG_DFL) if heeded else None
    from penstock.cli.main import run as run_command

    if before is not None:
        signal.signal(signal.SIGINT, before)
    run_command()


if __name__ == "__main__":
    run()
