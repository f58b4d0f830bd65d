"""Promises every mechanism must keep, as checks that anyone can run on their own mechanism.

from penstock.checks import CHECKS, Subject
for check in CHECKS.values():
    check(Subject(MyMechanism, model))
"""

from penstock.checks.catalogue import CHECKS
from penstock.checks.coverage import subjects
from penstock.checks.subject import Kernel, Subject, example_models

__all__ = ["CHECKS", "Kernel", "Subject", "example_models", "subjects"]
