"""Matches with one false claim each."""

import copy
import types

from .draw import Draw
from .ed25519 import sign
from .matches import BLACK_ROW, BOTH_ROWS
from .played import Played, server_keys, server_signature, settings
from .rules import Position, index
from .sealing import SEATS, digest, seal, unhex
from .verifier import (
    ABORTED, BLACK_WINS, BOTH_FLAGGED, DRAW, FAILED_REVEAL, FLAG, FULL_BOARD, IDLE, NO_SHOW, OPERATOR, RESIGNATION, ROW,
    SUDDEN_DEATH, TURN_LIMIT, WHITE_WINS,
)

OPPONENT = {"black": "white", "white": "black"}
SECOND = ("turns", 1)  # the second turn


def flipped(text):
    return ("1" if text[0] == "0" else "0") + text[1:]


def rechained(row, recommit=False):
    """The row with every hash made anew, as far as the moves can be played."""
    row["first_hash"] = last = digest("match", row)
    position, hashes = Position(), []
    for number, turn in enumerate(row["turns"], 1):
        cells = [turn[seat]["cell"] - 1 for seat in SEATS]
        for seat in SEATS if recommit else ():
            side = turn[seat]
            side["commitment"] = digest("commitment", seal(
                row["match"], number, seat, row[seat]["player"], last, side["cell"], side["salt"]))
        if all(position.board[cell] == "." for cell in cells):
            position = position.play(*cells)
        last = digest("turn", {**turn, "previous": last, "position": position.line()})
        hashes.append(last)
    row["turn_hashes"] = hashes
    if row["ending"]:
        row["end_hash"] = digest("end", {**row["ending"], "last": last})
    return row


def change(base, *path_and_value, chain=False, recommit=False):
    """A copy in which one value is replaced, or made from the old one by a function."""
    row = copy.deepcopy(base)
    *path, last, value = path_and_value
    at = row
    for key in path:
        at = at[key]
    at[last] = value(at[last]) if callable(value) else value
    return rechained(row, recommit) if chain or recommit else row


def ending(base, **changes):
    return change(base, "ending", {**base["ending"], **changes}, chain=True)


def appended(base, black, white):
    """A copy with one more turn, committed and chained as if it were right."""
    row = copy.deepcopy(base)
    turn = copy.deepcopy(row["turns"][-1])
    turn["opened_ms"] = turn["resolved_ms"]
    for seat, cell in zip(SEATS, (black, white)):
        turn[seat].update(cell=index(cell) + 1, sealed_ms=turn["opened_ms"], signature=None)
    row["turns"].append(turn)
    row["ending"]["time_ms"] = turn["resolved_ms"]
    return rechained(row, recommit=True)


def free(row):
    """Two empty cells after the last turn."""
    position = Position()
    for turn in row["turns"]:
        position = position.play(turn["black"]["cell"] - 1, turn["white"]["cell"] - 1)
    return ["ABCDEFGHI"[cell % 9] + str(cell // 9 + 1) for cell in position.empty()[:2]]


def occupied(base, seat):
    """A copy in which a seat plays its second turn on the cell of white's first."""
    return change(base, "turns", 1, seat, "cell", base["turns"][0]["white"]["cell"], recommit=True)


def swapped(base):
    """A copy in which the commitments of turn 2 change seats."""
    return change(base, "turns", 1, lambda turn: {
        **turn, **{seat: {**turn[seat], "commitment": turn[OPPONENT[seat]]["commitment"]} for seat in SEATS}})


def copied(base):
    """A copy in which white has black's commitment and opening in turn 2."""
    black = {key: base["turns"][1]["black"][key] for key in ("commitment", "cell", "salt")}
    return change(base, "turns", 1, "white", lambda side: {**side, **black}, chain=True)


def reordered(base):
    """A copy in which turns 1 and 2 change places, but not their stamps."""
    row = change(base, "turns", lambda turns: [turns[1], turns[0], *turns[2:]])
    for turn, stamps in zip(row["turns"][:2], base["turns"]):
        turn.update(opened_ms=stamps["opened_ms"], resolved_ms=stamps["resolved_ms"])
        for seat in SEATS:
            turn[seat]["sealed_ms"] = stamps[seat]["sealed_ms"]
    return rechained(row)


def bases():
    """The matches that are tampered with."""
    reveal = settings(seal_mode=2, reveal_time_ms=10_000)
    bank = settings(turn_time_ms=None, bank={"initial_ms": 60_000, "increment_ms": 0}, bot={"seat": "black", "level": 1})
    played = {
        "resigned": Played("base-1", signs=("black",)).random(4).end(BLACK_WINS, RESIGNATION, ["black"], 50),
        "won": Played("base-2").moves(BLACK_ROW).decided(),
        "signed": Played("base-12").random(3).end(WHITE_WINS, RESIGNATION, (), 70).signed(),
        "sudden": Played("base-3").moves(BOTH_ROWS + " F1/H5").decided(),
        "flagged": Played("base-4").random(3).end(BLACK_WINS, FLAG, ["black"], 30_000),
        "limited": Played("base-5", settings(turn_limit=3)).random(3).decided(),
        "unrevealed": Played("base-6", reveal).random(2).end(BLACK_WINS, FAILED_REVEAL, SEATS, 9_000),
        "banked": Played("base-7", bank, black="players/bot").random(3),
        "full": Played("base-8").random(81, 100).decided(),
        "created": Played("base-9"),
        "aborted": Played("base-11").end(ABORTED, OPERATOR),
        "other": Played("base-10").random(4),
    }
    return types.SimpleNamespace(**{name: match.row for name, match in played.items()})


def tampered_matches():
    """Every such match: (claim, turn, seat, note, row)."""
    base = bases()
    yield from of_the_match(base)
    yield from of_turns(base)
    yield from of_signatures(base)
    yield from of_the_ending(base)
    yield from of_the_service(base)


def of_the_match(base):
    yield "hash_count", None, None, "a hash is missing", change(base.resigned, "turn_hashes", lambda hashes: hashes[:-1])
    yield "hash_count", None, None, "a turn is missing", change(base.resigned, "turns", lambda turns: turns[:-1])
    yield "hash_count", None, None, "an ending without its hash", change(base.won, "end_hash", None)
    yield "hash_count", None, None, "a hash without an ending", change(base.created, "end_hash", base.created["first_hash"])
    yield "field_length", None, "white", "a name of 65,536 bytes", change(base.created, "white", "player", "p" * 65_536)
    yield "rules_version", None, None, "rules of another version", change(
        base.resigned, "settings", "rules_version", "wts-2026.2", recommit=True)
    yield "first_hash", None, None, "another match", change(base.resigned, "match", base.other["match"])
    yield "first_hash", None, None, "another time for a turn", change(base.resigned, "settings", "turn_time_ms", 30_001)
    yield "first_hash", None, None, "no time for a turn", change(base.resigned, "settings", "turn_time_ms", None)
    yield "first_hash", None, None, "another increment", change(base.banked, "settings", "bank", "increment_ms", 1)
    yield "first_hash", None, None, "the bot in the other seat", change(base.banked, "settings", "bot", "seat", "white")
    yield "first_hash", None, None, "no bot", change(base.banked, "settings", "bot", None)
    yield "first_hash", None, None, "another player", change(base.resigned, "white", "player", "players/p3")
    yield "first_hash", None, None, "another key", change(base.resigned, "black", "public_key", flipped)
    yield "first_hash", None, None, "the key gone", change(base.resigned, "black", "public_key", None)
    yield "first_hash", None, None, "one bit of h_0", change(base.resigned, "first_hash", flipped)


def of_turns(base):
    signature = sign(Draw("forger").bytes(32), b"\0" * 32).hex()
    yield "turn_limit", 4, None, "a turn beyond the limit", appended(base.limited, *free(base.limited))
    yield "game_over", 6, None, "a turn after a row", appended(base.won, "A5", "I5")
    yield "game_over", 6, None, "a turn after a row, with nothing in order", change(
        appended(base.won, "A5", "I5"), "turns", 5, {**base.won["turns"][0], "opened_ms": 0})
    yield "game_over", 82, None, "a turn on a full board", appended(base.full, "A1", "A1")
    yield "turn_times", 2, None, "opened before the turn before resolved", change(
        base.resigned, *SECOND, "opened_ms", base.resigned["turns"][0]["resolved_ms"] - 1, chain=True)
    yield "turn_times", 2, None, "resolved before it opened", change(
        base.resigned, *SECOND, "resolved_ms", base.resigned["turns"][1]["opened_ms"] - 1, chain=True)
    yield "turn_times", 2, "black", "sealed before it opened", change(
        base.resigned, *SECOND, "black", "sealed_ms", base.resigned["turns"][1]["opened_ms"] - 1, chain=True)
    yield "turn_times", 2, "white", "sealed after it resolved", change(
        base.resigned, *SECOND, "white", "sealed_ms", base.resigned["turns"][1]["resolved_ms"] + 1, chain=True)
    yield "commitment", 2, "black", "one bit of black's salt", change(base.resigned, *SECOND, "black", "salt", flipped)
    yield "commitment", 2, "white", "one bit of white's salt, every hash made anew", change(
        base.resigned, *SECOND, "white", "salt", flipped, chain=True)
    yield "commitment", 2, "white", "another cell", change(
        base.resigned, *SECOND, "white", "cell", lambda cell: 82 - cell if cell != 41 else 40)
    yield "commitment", 2, "black", "one bit of a commitment", change(base.resigned, *SECOND, "black", "commitment", flipped)
    yield "commitment", 2, "black", "the commitments change seats", swapped(base.resigned)
    yield "commitment", 2, "white", "a copied move", copied(base.resigned)
    yield "commitment", 1, "black", "turns in another order, every hash made anew", reordered(base.resigned)
    yield "commitment", 1, "black", "commitments of another match", change(
        base.resigned, "turns", base.other["turns"], chain=True)
    yield "move", 2, "black", "black on an occupied cell", occupied(base.resigned, "black")
    yield "move", 2, "white", "white on an occupied cell", occupied(base.resigned, "white")
    yield "turn_hash", 2, None, "one bit of a hash", change(base.resigned, "turn_hashes", 1, flipped)
    yield "turn_hash", 4, None, "another stamp", change(base.resigned, "turns", 3, "resolved_ms", lambda stamp: stamp + 1)
    yield "turn_hash", 2, None, "a signature put in", change(base.resigned, *SECOND, "white", "signature", signature)
    yield "turn_hash", 1, None, "a signature changed or put in", change(base.resigned, "turns", 0, "black", "signature", signature)


def of_signatures(base):
    turns = [turn["black"] for turn in base.resigned["turns"]]
    other = sign(Draw("forger").bytes(32), unhex(digest("player", turns[1]))).hex()
    first = next(side["signature"] for side in turns[2:] if side["signature"])
    for note, signature in (("by another key", other), ("of another commitment", first), ("of nothing", "00" * 64)):
        yield "player_signature", 2, "black", f"a signature {note}, every hash made anew", change(
            base.resigned, *SECOND, "black", "signature", signature, chain=True)
    number = next(number for number, side in enumerate(turns) if side["signature"])
    yield "player_signature", number + 1, "black", "one bit of a signature, every hash made anew", change(
        base.resigned, "turns", number, "black", "signature", flipped, chain=True)


def of_the_ending(base):
    yield "end_time", None, None, "ended before the last turn resolved", ending(
        base.resigned, time_ms=base.resigned["turns"][-1]["resolved_ms"] - 1)
    yield "end_result", None, None, "a draw by resignation", ending(base.resigned, result=DRAW)
    yield "end_result", None, None, "one flag, a draw", ending(base.flagged, result=DRAW)
    yield "end_result", None, None, "idle, but won", ending(base.flagged, reason=IDLE)
    yield "end_board", None, None, "the row is black's", ending(base.won, result=WHITE_WINS)
    yield "end_board", None, None, "resigned after the row", ending(base.won, result=WHITE_WINS, reason=RESIGNATION)
    yield "end_board", None, None, "a row is no sudden death", ending(base.won, reason=SUDDEN_DEATH)
    yield "end_board", None, None, "a majority in sudden death is no row", ending(base.sudden, reason=ROW)
    yield "end_board", None, None, "a row that is not there", ending(base.flagged, reason=ROW)
    yield "end_board", None, None, "a full board that is not there", ending(base.flagged, result=DRAW, reason=FULL_BOARD)
    yield "end_board", None, None, "the turn limit is not reached", ending(base.flagged, result=DRAW, reason=TURN_LIMIT)
    yield "end_board", None, None, "the turn limit decides", ending(base.limited, result=BLACK_WINS, reason=RESIGNATION)
    yield "end_board", None, None, "aborted after its first turn", ending(base.flagged, result=ABORTED, reason=OPERATOR)
    yield "end_board", None, None, "aborted by resignation after its first turn", ending(
        base.flagged, result=ABORTED, reason=RESIGNATION)
    yield "end_board", None, None, "no show after the first turn", ending(base.flagged, result=ABORTED, reason=NO_SHOW)
    yield "end_commitments", None, None, "a seal beside a row", ending(
        base.won, unresolved={"black": base.won["turns"][0]["black"]["commitment"], "white": None})
    yield "end_commitments", None, None, "aborted with a turn open", ending(base.aborted, unresolved={
        "black": None, "white": base.resigned["turns"][0]["white"]["commitment"]})
    yield "end_commitments", None, None, "the one who sealed flagged", ending(base.flagged, result=WHITE_WINS)
    yield "end_commitments", None, None, "both flagged, one had sealed", ending(base.flagged, result=DRAW, reason=BOTH_FLAGGED)
    yield "end_commitments", None, None, "a reveal that was not due", ending(
        base.unrevealed, unresolved={"black": base.unrevealed["ending"]["unresolved"]["black"], "white": None})
    yield "end_commitments", None, None, "a failed reveal where the server holds the moves", ending(
        base.flagged, reason=FAILED_REVEAL, unresolved=base.unrevealed["ending"]["unresolved"])
    yield "end_hash", None, None, "one bit of h_end", change(base.won, "end_hash", flipped)
    yield "end_hash", None, None, "a later end", change(base.resigned, "ending", "time_ms", lambda stamp: stamp + 1)
    yield "end_hash", None, None, "the winner changed", change(base.resigned, "ending", "result", WHITE_WINS)
    yield "end_hash", None, None, "an unresolved commitment gone", change(base.resigned, "ending", "unresolved", "black", None)


def of_the_service(base):
    signed = base.signed["signature"]
    forged = sign(Draw("forger").bytes(32), unhex(digest("transcript", {"end": base.signed["end_hash"], "key_id": "k2"})))
    yield "server_key", None, None, "no key is known", change(base.signed, "server_keys", [])
    yield "server_key", None, None, "another key is known", change(base.signed, "server_keys", server_keys("k1"))
    yield "server_key", None, None, "a key that never was", change(base.signed, "signature", "key_id", "k3")
    yield "server_signature", None, None, "one bit of the signature", change(base.signed, "signature", "signature", flipped)
    yield "server_signature", None, None, "by another key under this name", change(
        base.signed, "signature", "signature", forged.hex())
    yield "server_signature", None, None, "under the name of another key", change(base.signed, "signature", "key_id", "k1")
    renamed = [{**key, "public_key": server_keys("k2")[0]["public_key"]} for key in server_keys("k1")]
    yield "server_signature", None, None, "under another name of the same key", change(
        change(base.signed, "signature", "key_id", "k1"), "server_keys", renamed)
    yield "server_signature", None, None, "of another match", change(
        base.signed, "signature", server_signature("k2", base.won["end_hash"]))
    yield "server_signature", None, None, "a later end, every hash made anew", change(
        base.signed, "ending", "time_ms", lambda stamp: stamp + 1, chain=True)
    yield "server_signature", None, None, "another winner, every hash made anew", ending(base.signed, result=BLACK_WINS)
    yield "server_signature", None, None, "another move, every hash made anew", moved(base.signed)
    yield "server_signature", None, None, "another player, every hash made anew", change(
        base.signed, "white", "player", "players/p3", recommit=True)
    yield "server_signature", None, None, "a match that is still played", {
        **base.banked, "signature": server_signature("k2", base.banked["turn_hashes"][-1]), "server_keys": server_keys("k2")}
    yield "end_hash", None, None, "a signature does not make up for a hash", {
        **change(base.signed, "end_hash", flipped), "signature": signed}


def moved(base):
    """A copy in which white's last move is another one, committed and chained as if it had been so."""
    free_cells = free(base)
    return change(base, "turns", len(base["turns"]) - 1, "white", "cell", index(free_cells[0]) + 1, recommit=True)
