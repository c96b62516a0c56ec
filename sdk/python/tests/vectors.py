"""The project's test vectors, as the API's messages."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp

from whattheshell.v1 import game_pb2, match_service_pb2

Row = dict[str, Any]

SEATS = {"black": game_pb2.SEAT_BLACK, "white": game_pb2.SEAT_WHITE}

_FOLDER = Path(__file__).resolve().parents[3] / "tests" / "vectors"


def rows(name: str) -> Iterator[Row]:
    """The rows of a file of vectors."""
    with (_FOLDER / name).open(encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


def match_settings(row: Row) -> game_pb2.MatchSettings:
    """A match's settings."""
    bank, bot = row["bank"], row["bot"]
    return game_pb2.MatchSettings(
        rules_version=row["rules_version"],
        turn_time=_duration(row["turn_time_ms"]),
        bank=bank
        and game_pb2.BankClock(
            initial=_duration(bank["initial_ms"]), increment=_duration(bank["increment_ms"])
        ),
        seal_mode=row["seal_mode"],
        reveal_time=_duration(row["reveal_time_ms"]),
        mode=row["mode"],
        spectators=row["spectators"],
        seal_status=row["seal_status"],
        start_time=_duration(row["start_time_ms"]),
        turn_limit=row["turn_limit"],
        idle_limit=_duration(row["idle_limit_ms"]),
        bot=bot and game_pb2.BotSeat(seat=SEATS[bot["seat"]], level=bot["level"]),
    )


def match_seat(row: Row) -> game_pb2.MatchSeat:
    """A player in a match."""
    return game_pb2.MatchSeat(player=row["player"], public_key=_bytes(row["public_key"]))


def resolved_turn(row: Row, number: int, position: str, digest: str) -> game_pb2.ResolvedTurn:
    """A turn, the canonical line of the position after it, and its hash."""
    return game_pb2.ResolvedTurn(
        turn=number,
        black=_opening(row["black"]),
        white=_opening(row["white"]),
        position=_position(position),
        hash=_bytes(digest),
        open_time=stamp(row["opened_ms"]),
        resolve_time=stamp(row["resolved_ms"]),
    )


def match_finished(row: Row, turn: int, digest: str) -> game_pb2.MatchFinished:
    """The end of a match after so many turns, and its hash."""
    return game_pb2.MatchFinished(
        result=row["result"],
        reason=row["reason"],
        finish_time=stamp(row["time_ms"]),
        turn=turn,
        black_unresolved_commitment=_bytes(row["unresolved"]["black"]),
        white_unresolved_commitment=_bytes(row["unresolved"]["white"]),
        end_hash=_bytes(digest),
    )


def transcript(row: Row) -> match_service_pb2.Transcript:
    """A whole match without a false claim."""
    turns = zip(row["turns"], row["positions"], row["turn_hashes"], strict=True)
    ending = row["ending"]
    return match_service_pb2.Transcript(
        match=f"matches/{row['match']}",
        settings=match_settings(row["settings"]),
        black=match_seat(row["black"]),
        white=match_seat(row["white"]),
        first_hash=_bytes(row["first_hash"]),
        turns=[resolved_turn(turn, number, *rest) for number, (turn, *rest) in enumerate(turns, 1)],
        finish=ending and match_finished(ending, len(row["turns"]), row["end_hash"]),
    )


def stamp(ms: int) -> Timestamp:
    """Milliseconds since the Unix epoch as a timestamp."""
    seconds, ms = divmod(ms, 1000)
    return Timestamp(seconds=seconds, nanos=ms * 1_000_000)


def _duration(ms: int | None) -> Duration | None:
    if ms is None:
        return None
    seconds, ms = divmod(ms, 1000)
    return Duration(seconds=seconds, nanos=ms * 1_000_000)


def _opening(row: Row) -> game_pb2.SealedOpening:
    return game_pb2.SealedOpening(
        cell=row["cell"],
        salt=_bytes(row["salt"]),
        commitment=_bytes(row["commitment"]),
        player_signature=_bytes(row["signature"]),
        seal_time=stamp(row["sealed_ms"]),
    )


def _position(line: str) -> game_pb2.Position:
    cells, eggs, status, counts = line.split()
    black, white = counts.split(":")
    return game_pb2.Position(
        cells=cells,
        eggs=[_cell(name) for name in eggs.split(",") if name != "-"],
        status=game_pb2.PositionStatus.Value(f"POSITION_STATUS_{status.upper()}"),
        black_winning_turtles=int(black),
        white_winning_turtles=int(white),
    )


def _cell(name: str) -> int:
    return (int(name[1]) - 1) * 9 + "ABCDEFGHI".index(name[0]) + 1


def _bytes(text: str | None) -> bytes:
    return bytes.fromhex(text or "")
