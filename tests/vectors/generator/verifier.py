"""Whether a transcript holds, and the first claim that does not."""

from .ed25519 import verify as signed_by
from .rules import Position
from .sealing import FIELD_BYTES_MAX, SEATS, digest, seal, unhex

RULES_VERSION = "wts-2026.1"
DECISIVE = (1, 2)
ALLOWED_RESULTS = {1: DECISIVE, 2: DECISIVE, 3: (3,), 4: (3,), 5: (1, 2, 4), 6: (3,), 7: DECISIVE, 8: (3,),
                   9: (1, 2, 3), 10: (4,), 11: (4, 5), 12: (5,), 13: (5,)}
ROW, SUDDEN_DEATH, FULL_BOARD, TURN_LIMIT, RESIGNATION, AGREED_DRAW, FLAG, BOTH_FLAGGED = range(1, 9)
FAILED_REVEAL, NO_SHOW, OPERATOR, IDLE, LOST_HISTORY = range(9, 14)
BLACK_WINS, WHITE_WINS, DRAW, ABORTED, VOID = range(1, 6)


def decided_by_turn(before, after, turn, limit):
    """The result and the reason with which a turn ends a match, if it does."""
    status, black, white = after.outcome()
    if status in ("black_wins", "white_wins"):
        contested = (black and white) or before.outcome()[0] == "sudden_death"
        return (BLACK_WINS if status == "black_wins" else WHITE_WINS), (SUDDEN_DEATH if contested else ROW)
    if status == "draw":
        return DRAW, FULL_BOARD
    return (DRAW, TURN_LIMIT) if turn >= limit else None


def verify(transcript):
    """The first claim that does not hold, as (claim, turn, seat), or None."""
    t, turns, ending = transcript, transcript["turns"], transcript["ending"]
    if len(turns) != len(t["turn_hashes"]) or (ending is None) != (t["end_hash"] is None):
        return "hash_count", None, None
    if len(t["settings"]["rules_version"].encode()) > FIELD_BYTES_MAX:
        return "field_length", None, None
    for seat in SEATS:
        if len(t[seat]["player"].encode()) > FIELD_BYTES_MAX:
            return "field_length", None, seat
    if t["settings"]["rules_version"] != RULES_VERSION:
        return "rules_version", None, None
    if digest("match", t) != t["first_hash"]:
        return "first_hash", None, None
    before = position = Position()
    last, resolved_ms = t["first_hash"], 0
    for number, (turn, claimed) in enumerate(zip(turns, t["turn_hashes"]), 1):
        failed = verify_turn(t, number, turn, position, last, resolved_ms)
        if failed:
            return failed[0], number, failed[1]
        before, position = position, position.play(turn["black"]["cell"] - 1, turn["white"]["cell"] - 1)
        if digest("turn", {**turn, "previous": last, "position": position.line()}) != claimed:
            return "turn_hash", number, None
        for seat in SEATS:
            key, signature = unhex(t[seat]["public_key"]), unhex(turn[seat]["signature"])
            if key and signature and not signed_by(key, unhex(digest("player", turn[seat])), signature):
                return "player_signature", number, seat
        last, resolved_ms = claimed, turn["resolved_ms"]
    claim = ending and verify_ending(t, before, position, last, resolved_ms) or verify_server(t)
    return (claim, None, None) if claim else None


def verify_turn(t, number, turn, position, last, resolved_ms):
    if number > t["settings"]["turn_limit"]:
        return "turn_limit", None
    if position.over():
        return "game_over", None
    if not resolved_ms <= turn["opened_ms"] <= turn["resolved_ms"]:
        return "turn_times", None
    for seat in SEATS:
        if not turn["opened_ms"] <= turn[seat]["sealed_ms"] <= turn["resolved_ms"]:
            return "turn_times", seat
    for seat in SEATS:
        side = turn[seat]
        sealed = seal(t["match"], number, seat, t[seat]["player"], last, side["cell"], side["salt"])
        if digest("commitment", sealed) != side["commitment"]:
            return "commitment", seat
    for seat in SEATS:
        if position.board[turn[seat]["cell"] - 1] != ".":
            return "move", seat
    return None


def verify_ending(t, before, position, last, resolved_ms):
    ending, turns, limit = t["ending"], len(t["turns"]), t["settings"]["turn_limit"]
    result, reason = ending["result"], ending["reason"]
    if ending["time_ms"] < resolved_ms:
        return "end_time"
    if result not in ALLOWED_RESULTS[reason]:
        return "end_result"
    decided = decided_by_turn(before, position, turns, limit) if turns else None
    if decided is not None:
        fits = decided == (result, reason)
    else:
        fits = reason > TURN_LIMIT and (turns == 0 or result != ABORTED)
    if not fits:
        return "end_board"
    held = {seat for seat in SEATS if ending["unresolved"][seat] is not None}
    if (result == ABORTED or reason in (ROW, SUDDEN_DEATH, FULL_BOARD, TURN_LIMIT, BOTH_FLAGGED)) and held:
        return "end_commitments"
    if reason == FLAG and ("white" if result == BLACK_WINS else "black") in held:
        return "end_commitments"
    if reason == FAILED_REVEAL and (t["settings"]["seal_mode"] != 2 or held != set(SEATS)):
        return "end_commitments"
    if digest("end", {**ending, "last": last}) != t["end_hash"]:
        return "end_hash"
    return None


def verify_server(t):
    signed = t["signature"]
    if signed is None:
        return None
    key = next((key for key in t["server_keys"] if key["key_id"] == signed["key_id"]), None)
    if key is None:
        return "server_key"
    covered = t["end_hash"] and unhex(digest("transcript", {"end": t["end_hash"], "key_id": signed["key_id"]}))
    if not covered or not signed_by(unhex(key["public_key"]), covered, unhex(signed["signature"])):
        return "server_signature"
    return None
