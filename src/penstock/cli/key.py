"""``penstock key``: change the key of the sealed state, or go on without a lost one."""

from __future__ import annotations

from pathlib import Path

import typer

from penstock.cli import options
from penstock.cli.console import messages
from penstock.errors import StoreError
from penstock.store import Store

app = typer.Typer(no_args_is_help=True, help="Change the key of a store, or go on without a lost one.")


@app.command()
def rotate(store: options.StorePath, key: options.KeyPath = None) -> None:
    """Seal everything under a new key; the old one is forgotten."""
    with existing(store, key) as opened:
        opened.rotate_key()
        messages.print(f"the sealed state is under a new key in {opened.key_file.path}; destroy copies of the old one.")


@app.command()
def lost(store: options.StorePath, key: options.KeyPath = None) -> None:
    """Make a new key and give up what was sealed under the old one. Nothing spent comes back; nothing leaks."""
    with existing(store, key) as opened:
        if opened.has_key():
            raise StoreError(
                f'the key in {opened.key_file.path} opens the store; run "penstock key rotate" to change it.'
            )
        opened.replace_key()
        messages.print(f"a new key is in {opened.key_file.path}; what was sealed is given up, and runs begin anew.")


def existing(path: Path, key: Path | None, head: Path | None = None) -> Store:
    """A store that is there."""
    if not path.is_file() or not path.stat().st_size:  # of an empty file a new store would be made
        raise StoreError(f"there is no store {path}; give the path of one that exists.")
    return Store(path, key=key, head=head)
