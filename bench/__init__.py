"""Benchmarks: ratios against peers, printed by `make bench`; no test depends on them."""
