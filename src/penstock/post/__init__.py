"""What can be done to releases after they are made: public in, public out, at no cost."""

from penstock.post.sliding import SlidingSum

__all__ = ["SlidingSum"]
