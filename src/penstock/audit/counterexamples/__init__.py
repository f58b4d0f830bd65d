"""Five mechanisms as they are printed, and the loss that each of them has beyond its claim, beside the repaired form.

    python -m penstock.audit.counterexamples

Nothing here publishes anything: chances are computed, or estimated with numpy's generators. ``docs/five-ways.md``
tells the stories.
"""
