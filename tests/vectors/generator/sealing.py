"""The sealing format: what each digest is taken of."""

import hashlib

SEATS = ("black", "white")
SEAT_NUMBER = {"black": 1, "white": 2}
FIELD_BYTES_MAX = 65_535


def lp(data):
    if len(data) > FIELD_BYTES_MAX:
        raise ValueError("too long for a field")
    return len(data).to_bytes(2, "big") + data


def u8(number):
    return number.to_bytes(1, "big")


def u32(number):
    return number.to_bytes(4, "big")


def u64(number):
    return number.to_bytes(8, "big")


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def unhex(text):
    return bytes.fromhex(text or "")


def match_bytes(name):
    return bytes.fromhex(name.replace("-", ""))


def match_name(data):
    text = data.hex()
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


def preimage(kind, row):
    """The bytes of a digest from the row's fields."""
    domain = lp(b"whattheshell.v1." + {"commitment": "seal"}.get(kind, kind).encode())
    if kind == "commitment":
        return domain + b"".join(map(lp, (
            match_bytes(row["match"]), u32(row["turn"]), u8(SEAT_NUMBER[row["seat"]]), row["player"].encode(),
            unhex(row["previous"]), u8(row["cell"]), unhex(row["salt"]))))
    if kind == "match":
        parties = b"".join(lp(row[seat]["player"].encode()) + lp(unhex(row[seat]["public_key"])) for seat in SEATS)
        return domain + lp(match_bytes(row["match"])) + settings_bytes(row["settings"]) + parties
    if kind == "turn":
        sides = [row[seat] for seat in SEATS]
        stamps = [row["opened_ms"], *(side["sealed_ms"] for side in sides), row["resolved_ms"]]
        return domain + b"".join(map(lp, (
            unhex(row["previous"]), *(unhex(side["commitment"]) for side in sides),
            *(u8(side["cell"]) + unhex(side["salt"]) for side in sides), b"".join(map(u64, stamps)),
            *(unhex(side["signature"]) for side in sides), row["position"].encode())))
    if kind == "end":
        return domain + b"".join(map(lp, (
            unhex(row["last"]), u8(row["result"]), u8(row["reason"]), u64(row["time_ms"]),
            unhex(row["unresolved"]["black"]), unhex(row["unresolved"]["white"]))))
    if kind == "receipt":
        return domain + b"".join(map(lp, (
            match_bytes(row["match"]), u32(row["turn"]), u8(SEAT_NUMBER[row["seat"]]), unhex(row["commitment"]),
            u64(row["sealed_ms"]), row["key_id"].encode())))
    if kind == "transcript":
        return domain + lp(unhex(row["end"])) + lp(row["key_id"].encode())
    if kind == "player":
        return domain + lp(unhex(row["commitment"]))
    raise ValueError(kind)


def settings_bytes(settings):
    def number(name):
        return lp(b"" if settings[name] is None else u64(settings[name]))

    bank, bot = settings["bank"], settings["bot"]
    return b"".join((
        lp(settings["rules_version"].encode()),
        number("turn_time_ms"),
        lp(b"" if bank is None else u64(bank["initial_ms"]) + u64(bank["increment_ms"])),
        *map(number, ("seal_mode", "reveal_time_ms", "mode", "spectators", "seal_status", "start_time_ms",
                      "turn_limit", "idle_limit_ms")),
        lp(b"" if bot is None else u64(SEAT_NUMBER[bot["seat"]]) + u64(bot["level"])),
    ))


def digest(kind, row):
    return sha256(preimage(kind, row))


def seal(match, turn, seat, player, previous, cell, salt):
    return {"match": match, "turn": turn, "seat": seat, "player": player, "previous": previous, "cell": cell,
            "salt": salt}
