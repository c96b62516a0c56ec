"""Rows of boxes: unresolved moves at rest."""

from .aes_gcm import encrypt, hkdf
from .draw import Draw
from .digests import commitment_inputs
from .sealing import SEAT_NUMBER, SEATS, digest, lp, match_bytes, match_name, u8, u32, unhex
from .tampered import flipped

DOMAIN = b"whattheshell.v1.box"


def make_box(row):
    match = match_bytes(row["match"])
    associated = b"".join(map(lp, (
        DOMAIN, match, u32(row["turn"]), u8(SEAT_NUMBER[row["seat"]]), unhex(row["commitment"]))))
    nonce, opening = unhex(row["nonce"]), u8(row["cell"]) + unhex(row["salt"])
    return (nonce + encrypt(hkdf(DOMAIN, unhex(row["key"]), match), nonce, opening, associated)).hex()


def inputs():
    draw = Draw("boxes")
    first = next(commitment_inputs())
    base = {"key": bytes(range(32)).hex(), "match": first["match"], "turn": 1, "seat": "black",
            "commitment": digest("commitment", first), "nonce": bytes(range(100, 112)).hex(), "cell": first["cell"],
            "salt": first["salt"]}
    yield "the check value's opening", base
    for note, changes in {
        "the first cell": {"cell": 1}, "the last cell": {"cell": 81}, "the other seat": {"seat": "white"},
        "another turn": {"turn": 2}, "the last turn there is": {"turn": 2**32 - 1},
        "another match": {"match": match_name(draw.bytes(16))}, "another commitment": {"commitment": "00" * 32},
        "another key": {"key": "ff" * 32}, "another nonce": {"nonce": "00" * 12}, "a salt of zeros": {"salt": "00" * 32},
    }.items():
        yield note, {**base, **changes}
    for _ in range(13):
        yield "drawn", {
            "key": draw.bytes(32).hex(), "match": match_name(draw.bytes(16)), "turn": 1 + draw.below(500),
            "seat": draw.of(SEATS), "commitment": draw.bytes(32).hex(), "nonce": draw.bytes(12).hex(),
            "cell": 1 + draw.below(81), "salt": draw.bytes(32).hex()}


def changed_at(text, at):
    return text[:2 * at] + flipped(text[2 * at:])


def refused(base):
    """Boxes that do not open where they are put: (note, row)."""
    box = make_box(base)
    for note, at in (("nonce", 0), ("nonce", 11), ("cell", 12), ("salt", 13), ("salt", 44), ("tag", 45), ("tag", 60)):
        yield f"a bit of the {note} changed", {"box": changed_at(box, at)}
    yield "no tag", {"box": box[:-32] + "00" * 16}
    yield "opened for another match", {"box": box, "match": match_name(b"\1" * 16)}
    yield "opened for another turn", {"box": box, "turn": 2}
    yield "opened for the other seat", {"box": box, "seat": "white"}
    yield "opened for another commitment", {"box": box, "commitment": flipped(base["commitment"])}
    yield "opened with another key", {"box": box, "key": flipped(base["key"])}
    yield "authentic, but there is no cell 0", {"box": make_box({**base, "cell": 0})}
    yield "authentic, but there is no cell 82", {"box": make_box({**base, "cell": 82})}


def box_rows():
    kept = list(inputs())
    for number, (note, row) in enumerate(kept, 1):
        yield {"id": f"box-{number:03}", "kind": "box", "note": note, **row, "box": make_box(row), "opens": True}
    base = kept[0][1]
    for number, (note, changes) in enumerate(refused(base), 1):
        hidden = {"nonce": None, "cell": None, "salt": None}
        yield {"id": f"box-refused-{number:03}", "kind": "box", "note": note, **base, **hidden, **changes, "opens": False}
