"""Rows of one digest each."""

from .draw import Draw
from .ed25519 import public_key
from .matches import valid_matches
from .played import START_MS, settings
from .sealing import SEAT_NUMBER, SEATS, digest, match_name, preimage, seal
from .tampered import flipped
from .verifier import ALLOWED_RESULTS

# The largest whole number that every JSON reader keeps exact.
JSON_NUMBER_MAX = 2**53 - 1


def commitment_inputs():
    match, zero = match_name(bytes(range(1, 17))), "00" * 32
    base = seal(match, 1, "black", "players/p1", zero, 41, bytes(range(32)).hex())
    yield base
    for changes in (
        {"cell": 1}, {"cell": 81}, {"cell": 9}, {"cell": 73}, {"seat": "white"}, {"turn": 0}, {"turn": 2},
        {"turn": 500}, {"turn": 2**32 - 1}, {"salt": zero}, {"salt": "ff" * 32}, {"previous": "ff" * 32},
        {"match": match_name(b"\0" * 16)}, {"match": match_name(b"\xff" * 16)}, {"player": "players/p"},
        {"player": "players/" + "a" * 64}, {"player": "players/" + "Zz0._-" * 10 + "Zz0."},
        {"player": "players/" + "n" * 300}, {"player": ""}, {"player": "players/é"},
        {"cell": 1, "seat": "white", "turn": 2**32 - 1, "player": "players/" + "b" * 64},
    ):
        yield {**base, **changes}
    draw = Draw("commitments")
    for cell in (1, 81, *(draw.below(81) + 1 for _ in range(22))):
        for seat in SEATS:
            player = "players/" + "".join(
                draw.of("ABCXYZabcxyz0189._-") for _ in range(1 + draw.below(64)))
            yield seal(match_name(draw.bytes(16)), draw.below(1_000), seat, player, draw.bytes(32).hex(), cell,
                       draw.bytes(32).hex())


def opening_rows():
    first = next(commitment_inputs())
    commitment = digest("commitment", first)
    yield {**first, "commitment": commitment, "opens": True, "note": "as committed"}
    for note, changes in {
        "another match": {"match": match_name(b"\1" * 16)}, "another turn": {"turn": 2},
        "the other seat: a copied commitment": {"seat": "white"}, "another player": {"player": "players/p2"},
        "another history": {"previous": "01" + "00" * 31}, "another cell": {"cell": 42},
        "another salt": {"salt": "01" * 32}, "another commitment": {"commitment": flipped(commitment)},
    }.items():
        yield {**first, "commitment": commitment, "opens": False, "note": note, **changes}


def match_inputs():
    nothing = {"turn_time_ms": None, "bank": None, "reveal_time_ms": None, "start_time_ms": None, "bot": None}
    bank, bot = {"initial_ms": 300_000, "increment_ms": 2_000}, {"seat": "white", "level": 7}
    keys = [public_key(Draw(f"key-{seat}").bytes(32)).hex() for seat in SEATS]
    match = match_name(bytes(range(1, 17)))

    def row(chosen, black=None, white=None, names=("players/p1", "players/p2")):
        return {"match": match, "settings": chosen, "black": {"player": names[0], "public_key": black},
                "white": {"player": names[1], "public_key": white}}

    for black in (None, keys[0]):
        for white in (None, keys[1]):
            yield row(settings(), black, white)
    yield row(settings(**nothing))
    for name, value in {"turn_time_ms": 1_000, "bank": bank, "reveal_time_ms": 10_000, "start_time_ms": 20_000,
                        "bot": bot}.items():
        yield row(settings(**{**nothing, name: value}))
    yield row(settings(bank=bank, reveal_time_ms=10_000, start_time_ms=20_000, bot=bot), *keys)
    yield row(settings(turn_time_ms=0, bank={"initial_ms": 0, "increment_ms": 0}, reveal_time_ms=0, start_time_ms=0,
                       turn_limit=0, idle_limit_ms=0))
    yield row(settings(turn_time_ms=JSON_NUMBER_MAX, bank={"initial_ms": JSON_NUMBER_MAX, "increment_ms": 1},
                       turn_limit=JSON_NUMBER_MAX, idle_limit_ms=JSON_NUMBER_MAX))
    yield row(settings(seal_mode=2, reveal_time_ms=10_000, mode=2, spectators=2, seal_status=2))
    yield row(settings(seal_mode=0, mode=0, spectators=0, seal_status=0, rules_version=""))
    yield row(settings(rules_version="règles-1"), names=("players/" + "a" * 64, ""))
    yield row(settings(bot={"seat": "black", "level": 1}), names=("players/bot", "players/p2"))


def turn_inputs():
    for category, _, played in valid_matches():
        row = played.row
        if category in ("row", "sudden_death") and len(row["turns"]) < 12:
            previous = (row["first_hash"], *row["turn_hashes"])[len(row["turns"]) - 1]
            yield {"previous": previous, **row["turns"][-1], "position": row["positions"][-1]}


def end_inputs():
    draw = Draw("endings")
    for reason, results in ALLOWED_RESULTS.items():
        for result in results:
            held = draw.below(4)
            unresolved = {seat: draw.bytes(32).hex() if held & SEAT_NUMBER[seat] else None for seat in SEATS}
            yield {"last": draw.bytes(32).hex(), "result": result, "reason": reason,
                   "time_ms": START_MS + draw.below(10**9), "unresolved": unresolved}
    yield {"last": "00" * 32, "result": 1, "reason": 1, "time_ms": 0, "unresolved": {seat: None for seat in SEATS}}


def receipt_inputs():
    draw = Draw("receipts")
    match, commitment = match_name(bytes(range(1, 17))), digest("commitment", next(commitment_inputs()))
    base = {"match": match, "turn": 1, "seat": "black", "commitment": commitment, "sealed_ms": START_MS,
            "key_id": "k1"}
    yield base
    for changes in ({"seat": "white"}, {"turn": 0}, {"turn": 2**32 - 1}, {"sealed_ms": 0},
                    {"sealed_ms": JSON_NUMBER_MAX}, {"key_id": ""}, {"key_id": "k" * 64},
                    {"match": match_name(draw.bytes(16)), "commitment": draw.bytes(32).hex()}):
        yield {**base, **changes}


def commitment_rows():
    draw = Draw("signed")
    ends = [{"end": draw.bytes(32).hex(), "key_id": key} for key in ("k1", "", "2026-11.a", "k" * 64)]
    players = [{"commitment": text} for text in (
        digest("commitment", next(commitment_inputs())), "00" * 32, draw.bytes(32).hex())]
    inputs = {"commitment": commitment_inputs(), "match": match_inputs(), "turn": turn_inputs(), "end": end_inputs(),
              "receipt": receipt_inputs(), "transcript": ends, "player": players}
    for kind, rows in inputs.items():
        for number, row in enumerate(rows, 1):
            yield {"id": f"{kind}-{number:03}", "kind": kind, **row, "preimage": preimage(kind, row).hex(),
                   "digest": digest(kind, row)}
    for number, row in enumerate(opening_rows(), 1):
        yield {"id": f"opening-{number:03}", "kind": "opening", **row}
