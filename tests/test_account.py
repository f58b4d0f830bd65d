"""Accounts: what a publisher and the store hand each other about a stream."""

from typing import Any

from penstock.store import Account

DECLARED: dict[str, Any] = {"mechanism": "uniform", "parameters": {}, "bins": ["a", "b"]}


def test_an_account_begins_with_nothing_published_or_announced() -> None:
    declared = Account.declared(7, "s", DECLARED, 0, b"link", 0)
    assert declared == Account(7, "s", declared.mechanism, 2, t=0, link=b"link")
    assert (declared.headed, declared.announced, declared.intervals) == (0, 0, False)


def test_an_account_knows_what_was_declared() -> None:
    declared = Account.declared(7, "s", DECLARED | {"intervals": True}, 3, b"link", 4)
    assert (declared.number, declared.name, declared.bins, declared.t, declared.link) == (7, "s", 2, 3, b"link")
    assert (declared.headed, declared.announced, declared.intervals) == (0, 4, True)
