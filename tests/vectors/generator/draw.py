"""Bytes and choices that depend on a seed alone."""

import hashlib


class Draw:
    """A series of draws; the same seed gives the same series on every machine."""

    def __init__(self, seed):
        self.seed, self.count = seed.encode(), 0

    def bytes(self, size):
        out = b""
        while len(out) < size:
            self.count += 1
            out += hashlib.sha256(self.seed + self.count.to_bytes(8, "big")).digest()
        return out[:size]

    def below(self, bound):
        return int.from_bytes(self.bytes(8), "big") % bound

    def of(self, choices):
        return choices[self.below(len(choices))]
