"""Models as files and commands write them, and what is refused there."""

from typing import Any

import pytest

from penstock.errors import BadInput
from penstock.laws import LAWS, MODELS, described, model_of, named
from penstock.models import DeltaNeighbourhood, EventLevel, MContext, PrivacyModel, UserLevel, WEvent
from penstock.spatial import SpatialNeighbourhood

STREAMS: dict[str, PrivacyModel] = {
    "event-level": EventLevel(epsilon="0.5", neighbours="replace"),
    "w-event": WEvent(epsilon=1, w=3, per_unit=2),
    "user-level": UserLevel(epsilon=1, horizon=9),
    "delta-neighbourhood": DeltaNeighbourhood(epsilon=2, steps=4),
    "m-context": MContext(epsilon=1, m=5),
}


def test_every_model_has_a_name_and_comes_back_from_its_description() -> None:
    assert list(MODELS) == list(STREAMS)
    assert list(LAWS) == [*STREAMS, "spatial-neighbourhood"]
    points = SpatialNeighbourhood(epsilon=1, radius=2, grid="0..8/1")
    for name, model in (STREAMS | {"spatial-neighbourhood": points}).items():
        assert named(model) == described(model)["name"] == name
        assert model_of(described(model)) == model


def test_a_description_is_plain_and_says_nothing_that_is_no_part_of_the_promise() -> None:
    assert described(STREAMS["w-event"]) == {
        "name": "w-event",
        "epsilon": "1",
        "neighbours": "add-remove",
        "per_unit": 2,
        "w": 3,
    }
    assert "on_horizon" not in described(STREAMS["user-level"])
    assert "max_users" not in described(STREAMS["m-context"])


@pytest.mark.parametrize(
    ("description", "words"),
    [
        ({}, "a model is one of event-level, w-event, .*; got ''"),
        ({"name": "w-evnt", "epsilon": 1, "w": 3}, "got 'w-evnt'.*w-event"),
        ({"name": "w-event", "epsilon": 1, "v": 3}, "the w-event model has no parameter 'v'; it has epsilon, .*w"),
        ({"name": "w-event", "epsilon": 1}, "the w-event model needs w; give it a value"),
        ({"name": "w-event"}, "the w-event model needs epsilon and w; give it a value"),
        (
            {"name": "spatial-neighbourhood", "epsilon": 1},
            "is for points that are published once; use penstock publish",
        ),
    ],
)
def test_what_is_no_description_is_refused(description: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInput, match=words):
        model_of(description)


def test_models_in_short() -> None:
    assert [model.in_short for model in STREAMS.values()] == ["event", "w=3", "horizon=9", "steps=4", "m=5"]
