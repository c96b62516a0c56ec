"""Matches in the making."""

from .draw import Draw
from .ed25519 import public_key, sign
from .rules import Position, index
from .sealing import SEATS, digest, match_name, seal, unhex
from .verifier import RULES_VERSION, decided_by_turn

START_MS = 1_790_000_000_000
# The service's keys in these matches: the current one and an old one.
SERVER_SECRETS = {key_id: Draw(f"server-{key_id}").bytes(32) for key_id in ("k2", "k1")}


def server_keys(*key_ids):
    return [{"key_id": key_id, "public_key": public_key(SERVER_SECRETS[key_id]).hex()} for key_id in key_ids]


def server_signature(key_id, end):
    covered = unhex(digest("transcript", {"end": end, "key_id": key_id}))
    return {"key_id": key_id, "signature": sign(SERVER_SECRETS[key_id], covered).hex()}


def settings(**changes):
    base = {"rules_version": RULES_VERSION, "turn_time_ms": 30_000, "bank": None, "seal_mode": 1,
            "reveal_time_ms": None, "mode": 1, "spectators": 1, "seal_status": 1, "start_time_ms": None,
            "turn_limit": 500, "idle_limit_ms": 2_592_000_000, "bot": None}
    assert not set(changes) - set(base)
    return {**base, **changes}


class Played:
    """A match in the making."""

    def __init__(self, name, chosen=None, black="players/p1", white="players/p2", signs=()):
        self.draw = Draw(name)
        self.secrets = {seat: self.draw.bytes(32) for seat in signs}
        identity = bytearray(self.draw.bytes(16))
        identity[:6] = START_MS.to_bytes(6, "big")
        identity[6], identity[8] = identity[6] & 0x0F | 0x70, identity[8] & 0x3F | 0x80
        keys = {seat: public_key(secret).hex() for seat, secret in self.secrets.items()}
        self.row = {
            "match": match_name(bytes(identity)), "settings": chosen or settings(),
            "black": {"player": black, "public_key": keys.get("black")},
            "white": {"player": white, "public_key": keys.get("white")},
            "first_hash": None, "turns": [], "turn_hashes": [], "ending": None, "end_hash": None, "signature": None,
            "server_keys": [], "positions": [],
        }
        self.row["first_hash"] = digest("match", self.row)
        self.position, self.before, self.now_ms = Position(), Position(), START_MS

    def last(self):
        return (self.row["turn_hashes"] or [self.row["first_hash"]])[-1]

    def commitment(self, seat, cell, salt):
        turn, player = len(self.row["turns"]) + 1, self.row[seat]["player"]
        return digest("commitment", seal(self.row["match"], turn, seat, player, self.last(), cell, salt))

    def side(self, seat, cell, opened_ms):
        salt = self.draw.bytes(32).hex()
        commitment = self.commitment(seat, cell + 1, salt)
        signature = None
        # A player with a key need not sign every commitment.
        if seat in self.secrets and self.draw.below(4):
            signature = sign(self.secrets[seat], unhex(digest("player", {"commitment": commitment}))).hex()
        bot = self.row["settings"]["bot"]
        waits_ms = 0 if bot and bot["seat"] == seat else self.draw.below(20_000)
        return {"cell": cell + 1, "salt": salt, "commitment": commitment, "sealed_ms": opened_ms + waits_ms,
                "signature": signature}

    def turn(self, black, white):
        opened_ms = self.now_ms + self.draw.below(2)
        sides = {seat: self.side(seat, cell, opened_ms) for seat, cell in zip(SEATS, (black, white))}
        self.now_ms = max(side["sealed_ms"] for side in sides.values())
        if self.row["settings"]["seal_mode"] == 2:
            self.now_ms += self.draw.below(5_000)
        self.before, self.position = self.position, self.position.play(black, white)
        turn = {"opened_ms": opened_ms, "resolved_ms": self.now_ms, **sides}
        text = self.position.line()
        self.row["turn_hashes"].append(digest("turn", {**turn, "previous": self.last(), "position": text}))
        self.row["turns"].append(turn)
        self.row["positions"].append(text)
        return self

    def moves(self, text):
        """Plays turns written as `A1/B2 C3/D4`, black's cell first."""
        for turn in text.split():
            self.turn(*map(index, turn.split("/")))
        return self

    def random(self, turns, collide=0):
        """Plays up to `turns` random turns, of 100 about `collide` forced collisions."""
        for _ in range(turns):
            if self.position.over():
                break
            empty = self.position.empty()
            black = self.draw.of(empty)
            self.turn(black, black if self.draw.below(100) < collide else self.draw.of(empty))
        return self

    def mirrored(self):
        """Plays point-symmetrically until both have a row, then at random until the end."""
        while self.position.outcome()[0] == "ongoing":
            black = self.draw.of(self.position.empty())
            self.turn(black, 80 - black)
        return self.random(400)

    def end(self, result, reason, holds=(), after_ms=0):
        unresolved = {seat: None for seat in SEATS}
        for seat in holds:
            unresolved[seat] = self.commitment(seat, self.draw.of(self.position.empty()) + 1, self.draw.bytes(32).hex())
        ending = {"result": result, "reason": reason, "time_ms": self.now_ms + after_ms, "unresolved": unresolved}
        self.row["ending"], self.row["end_hash"] = ending, digest("end", {**ending, "last": self.last()})
        return self

    def signed(self, key_id="k2"):
        """Signs the end as the service does."""
        self.row["signature"] = server_signature(key_id, self.row["end_hash"])
        self.row["server_keys"] = server_keys("k2", "k1")
        return self

    def decided(self):
        """Ends with what the last turn decided."""
        limit = self.row["settings"]["turn_limit"]
        return self.end(*decided_by_turn(self.before, self.position, len(self.row["turns"]), limit))


def search(trait, play):
    """The first match of a series that has a trait."""
    return next(played for played in map(play, range(10_000)) if trait(played))
