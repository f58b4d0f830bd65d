"""Links: hashes of exactly these bytes, or no store that was written before could be read any more."""

from hashlib import sha256

from penstock.codec import encode
from penstock.store import Account, SavedState
from penstock.store.links import first_link, intent_link, linked, population_link, state_link

ACCOUNT = Account(7, "s", "uniform", 2, t=4, link=b"before")
STATE = SavedState(4, b"public", b"sealed")


def test_a_link_is_the_hash_of_the_one_before_and_of_what_it_ties() -> None:
    hashed = {
        linked(b"before", b"body"): b"beforebody",
        first_link("id", "s", "{}", None): b"id" + encode(["s", "{}", None]),
        first_link("id", "s", "{}", "people"): b"id" + encode(["s", "{}", "people"]),
        state_link(ACCOUNT, STATE, b"release"): b"release" + encode([7, 4, 6]) + b"publicsealed",
        intent_link(b"before", 7, 5, "monday", 500_000_000): b"before" + encode([7, 5, "monday", 500_000_000]),
        intent_link(b"before", None, 5, "monday", 500_000_000): b"before" + encode([5, "monday", 500_000_000]),
        population_link("id", "people", 10**9): b"id" + encode(["people", 10**9]),
    }
    assert {link: sha256(content).digest() for link, content in hashed.items()} == {link: link for link in hashed}
