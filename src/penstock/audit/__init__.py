"""Attacks on the guarantee, and failures planted to show that the checks would find them."""
