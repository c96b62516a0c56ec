"""Commitments and hashes, byte for byte as the protos specify them.

Everything takes the API's own messages and returns the 32 bytes of a SHA-256. A value that does not fit the
format (a text of more than 65,535 bytes, a cell above 255, a match that is not named by a UUID) raises
`ValueError`; nothing here looks at whether a value makes sense.

    >>> commitment(
    ...     "matches/01020304-0506-0708-090a-0b0c0d0e0f10",
    ...     turn=1,
    ...     seat=game_pb2.SEAT_BLACK,
    ...     player="players/p1",
    ...     previous_hash=bytes(32),
    ...     cell=41,
    ...     salt=bytes(range(32)),
    ... ).hex()
    'c1d02a4717bbcb2ca83053d73d7c9eca0ec3af026851acc7cc0d7229f6798509'
"""

from hashlib import sha256
from uuid import UUID

from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp

from whattheshell.v1 import game_pb2, match_service_pb2

SALT_BYTES = 32
"""The length of a salt."""


def commitment(
    match: str,
    *,
    turn: int,
    seat: game_pb2.Seat.ValueType,
    player: str,
    previous_hash: bytes,
    cell: int,
    salt: bytes,
) -> bytes:
    """C: binds a player to a cell (1 to 81) in one turn of one history.

    `match` and `player` are resource names, `previous_hash` is the hash of the turn before, h_0 for turn 1.
    The salt keeps the cell secret: draw `SALT_BYTES` bytes by `secrets.token_bytes` for every turn.
    """
    return _digest(
        "seal",
        _match_id(match),
        _u32(turn),
        _u8(seat),
        player.encode(),
        previous_hash,
        _u8(cell),
        salt,
    )


def first_hash(
    match: str,
    settings: game_pb2.MatchSettings,
    black: game_pb2.MatchSeat,
    white: game_pb2.MatchSeat,
) -> bytes:
    """h_0: the match, its settings with every default filled in, and who plays."""
    bank = settings.bank
    return _digest(
        "match",
        _match_id(match),
        settings.rules_version.encode(),
        _milliseconds(settings.turn_time) if settings.HasField("turn_time") else b"",
        (
            _milliseconds(bank.initial) + _milliseconds(bank.increment)
            if settings.HasField("bank")
            else b""
        ),
        _u64(settings.seal_mode),
        _milliseconds(settings.reveal_time) if settings.HasField("reveal_time") else b"",
        _u64(settings.mode),
        _u64(settings.spectators),
        _u64(settings.seal_status),
        _milliseconds(settings.start_time) if settings.HasField("start_time") else b"",
        _u64(settings.turn_limit),
        _milliseconds(settings.idle_limit),
        _u64(settings.bot.seat) + _u64(settings.bot.level) if settings.HasField("bot") else b"",
        black.player.encode(),
        black.public_key,
        white.player.encode(),
        white.public_key,
    )


def turn_hash(previous_hash: bytes, turn: game_pb2.ResolvedTurn) -> bytes:
    """h_t: the history before a turn, what both sealed, when, and the board after it."""
    black, white = turn.black, turn.white
    return _digest(
        "turn",
        previous_hash,
        black.commitment,
        white.commitment,
        _u8(black.cell) + black.salt,
        _u8(white.cell) + white.salt,
        b"".join(map(_milliseconds, (turn.open_time, black.seal_time, white.seal_time, turn.resolve_time))),
        black.player_signature,
        white.player_signature,
        canonical_text(turn.position).encode(),
    )


def end_hash(last_hash: bytes, finish: game_pb2.MatchFinished) -> bytes:
    """h_end: the whole history, and how it ended."""
    return _digest(
        "end",
        last_hash,
        _u8(finish.result),
        _u8(finish.reason),
        _milliseconds(finish.finish_time),
        finish.black_unresolved_commitment,
        finish.white_unresolved_commitment,
    )


def receipt_digest(receipt: match_service_pb2.SealReceipt) -> bytes:
    """What the server's signature of a receipt covers."""
    return _digest(
        "receipt",
        _match_id(receipt.match),
        _u32(receipt.turn),
        _u8(receipt.seat),
        receipt.commitment,
        _milliseconds(receipt.seal_time),
        receipt.key_id.encode(),
    )


def transcript_digest(end: bytes, key_id: str) -> bytes:
    """What the server's signature of a transcript covers; `end` is h_end."""
    return _digest("transcript", end, key_id.encode())


def player_digest(sealed: bytes) -> bytes:
    """What a player's signature of his commitment covers."""
    return _digest("player", sealed)


def canonical_text(position: game_pb2.Position) -> str:
    """A position as the line that h_t covers, its LF included."""
    eggs = ",".join(cell_name(cell) for cell in position.eggs) or "-"
    status = game_pb2.PositionStatus.Name(position.status).removeprefix("POSITION_STATUS_").lower()
    counts = f"{position.black_winning_turtles}:{position.white_winning_turtles}"
    return f"{position.cells} {eggs} {status} {counts}\n"


def cell_name(cell: int) -> str:
    """The name of a cell: 1 is A1, 2 is B1, 81 is I9."""
    if not 1 <= cell <= 81:
        raise ValueError(f"{cell} is no cell")
    row, column = divmod(cell - 1, 9)
    return f"{'ABCDEFGHI'[column]}{row + 1}"


def _digest(kind: str, *values: bytes) -> bytes:
    """The SHA-256 of the values, each with its length before it."""
    digest = sha256()
    for value in (f"whattheshell.v1.{kind}".encode(), *values):
        digest.update(_unsigned(len(value), 2) + value)
    return digest.digest()


def _match_id(name: str) -> bytes:
    text = name.removeprefix("matches/")
    uuid = UUID(text)
    # Python reads other spellings too; the API has one.
    if str(uuid) != text:
        raise ValueError(f"{name} is not named by a lower-case hyphenated UUID")
    return uuid.bytes


def _milliseconds(time: Duration | Timestamp) -> bytes:
    return _u64(time.seconds * 1000 + time.nanos // 1_000_000)


def _u8(value: int) -> bytes:
    return _unsigned(value, 1)


def _u32(value: int) -> bytes:
    return _unsigned(value, 4)


def _u64(value: int) -> bytes:
    return _unsigned(value, 8)


def _unsigned(value: int, size: int) -> bytes:
    try:
        return value.to_bytes(size, "big")
    except OverflowError:
        raise ValueError(f"{value} is not an unsigned number of {size} bytes") from None
