"""Rows of Ed25519 signatures: receipts, finished matches, players' commitments."""

import hashlib
from itertools import islice

from .digests import commitment_inputs, receipt_inputs
from .draw import Draw
from .ed25519 import ORDER, base_point, compress, expand, multiply, public_key, sign, verify
from .sealing import digest, unhex
from .tampered import flipped

IDENTITY = (1).to_bytes(32, "little")
# A point of order 8.
SMALL_ORDER = bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05")


def signed(signs, seed, row):
    return {"signs": signs, **row, "seed": seed.hex(), "public_key": public_key(seed).hex(),
            "signature": sign(seed, unhex(digest(signs, row))).hex()}


def right():
    draw = Draw("signatures")
    for number, row in enumerate(receipt_inputs()):
        yield "a receipt", signed("receipt", draw.bytes(32) if number else bytes(range(32)), row)
    for key_id in ("k1", "2026-11.a", "k" * 64):
        yield "a finished match", signed("transcript", draw.bytes(32), {"end": draw.bytes(32).hex(), "key_id": key_id})
    for seal in islice(commitment_inputs(), 3):
        commitment = {"commitment": digest("commitment", seal)}
        yield "a player's commitment", signed("player", draw.bytes(32), commitment)


def with_small_nonce(seed, message):
    """A signature whose nonce is the identity: the equation holds, the nonce is none."""
    scalar, key = expand(seed)[0], public_key(seed)
    challenge = int.from_bytes(hashlib.sha512(IDENTITY + key + message).digest(), "little") % ORDER
    return IDENTITY + (challenge * scalar % ORDER).to_bytes(32, "little")


def wrong():
    """Signatures that are to be refused: (note, row)."""
    receipt, seed = next(iter(receipt_inputs())), bytes(range(32))
    base = signed("receipt", seed, receipt)
    text, message = base["signature"], unhex(digest("receipt", receipt))
    for name, value in {
        "match": "00000000-0000-0000-0000-000000000000", "turn": 2, "seat": "white", "commitment": "00" * 32,
        "sealed_ms": receipt["sealed_ms"] + 1, "key_id": "k2",
    }.items():
        yield f"another {name}", {**base, name: value}
    yield "one bit of R", {**base, "signature": flipped(text)}
    yield "one bit of S", {**base, "signature": text[:64] + flipped(text[64:])}
    yield "S above the order: the same signature in another form", {**base, "signature": text[:64] + (
        int.from_bytes(unhex(text[64:]), "little") + ORDER).to_bytes(32, "little").hex()}
    yield "the negative of S", {**base, "signature": text[:64] + (
        ORDER - int.from_bytes(unhex(text[64:]), "little")).to_bytes(32, "little").hex()}
    yield "nothing but zeros", {**base, "signature": "00" * 64}
    yield "another key", {**base, "public_key": public_key(b"\1" * 32).hex()}
    yield "a key that is no point", {**base, "public_key": "02" + "00" * 31}
    identity = (IDENTITY + bytes(32)).hex()
    yield "a key of order 1, for which this would hold of every message", {
        **base, "public_key": IDENTITY.hex(), "signature": identity}
    yield "a key of order 8", {**base, "public_key": SMALL_ORDER.hex(), "signature": identity}
    yield "a nonce of order 1", {**base, "signature": with_small_nonce(seed, message).hex()}
    nonce = compress(multiply(3, base_point())) + (3).to_bytes(32, "little")
    yield "a key of order 1, a nonce of full order", {**base, "public_key": IDENTITY.hex(), "signature": nonce.hex()}
    end = {"end": digest("receipt", receipt), "key_id": "k1"}
    yield "a receipt's signature on a match", {**signed("transcript", seed, end), "signature": text}
    player = {"commitment": receipt["commitment"]}
    yield "the service's signature for a player's", {**signed("player", seed, player), "signature": text}
    bare = sign(seed, unhex(player["commitment"])).hex()
    yield "a commitment signed without its domain", {**signed("player", seed, player), "signature": bare}


def signature_rows():
    for number, (note, row) in enumerate(right(), 1):
        assert verify(unhex(row["public_key"]), unhex(digest(row["signs"], row)), unhex(row["signature"])), note
        yield {"id": f"signature-{number:03}", "kind": "signature", "note": note, **row, "holds": True}
    for number, (note, row) in enumerate(wrong(), 1):
        assert not verify(unhex(row["public_key"]), unhex(digest(row["signs"], row)), unhex(row["signature"])), note
        yield {"id": f"signature-refused-{number:03}", "kind": "signature", "note": note, **row, "seed": None,
               "holds": False}
