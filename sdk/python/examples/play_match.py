"""Two players play a whole match at random, check every turn, and verify the transcript.

    wts serve --dev                      # in another terminal
    python examples/play_match.py        # or with the server's address, or WTS_SERVER set to it

The server is not trusted: each player makes his commitments himself, compares the receipts with them, and
follows the chain of hashes from the settings to the end.
"""

import asyncio
import os
import secrets
import sys
from uuid import uuid4

import grpc.aio

from whattheshell import sealing
from whattheshell.v1 import game_pb2, match_service_pb2, matchmaking_service_pb2, player_service_pb2
from whattheshell.v1.match_service_pb2_grpc import MatchServiceStub
from whattheshell.v1.matchmaking_service_pb2_grpc import MatchmakingServiceStub
from whattheshell.v1.player_service_pb2_grpc import PlayerServiceStub
from whattheshell.verify import History, verify_transcript

DEFAULT_SERVER = "http://127.0.0.1:7654"
CALL_TIMEOUT_S = 10
"""How long one call may take."""
MATCH_TIMEOUT_S = 60
"""How long the whole match may take: players that choose at random need no time to think."""
TURN_LIMIT = 200
"""Random games usually end within 100 turns; the others are a draw here."""


class Player:
    """A player with his token."""

    def __init__(self, channel: grpc.aio.Channel, name: str, token: str) -> None:
        self.name = name
        self._matches = MatchServiceStub(channel)
        self._matchmaking = MatchmakingServiceStub(channel)
        self._metadata = (("authorization", f"Bearer {token}"),)

    @classmethod
    async def log_in(cls, channel: grpc.aio.Channel, name: str) -> "Player":
        """A server in development mode gives everyone a token; else the game's back end asks for it."""
        request = player_service_pb2.MintPlayerTokenRequest(player=name)
        answer = await PlayerServiceStub(channel).MintPlayerToken(request, timeout=CALL_TIMEOUT_S)
        return cls(channel, name, answer.token)

    async def invite(self, invitee: str, settings: game_pb2.MatchSettings) -> str:
        """Invites a player and returns the invite's name."""
        request = matchmaking_service_pb2.CreateInviteRequest(
            request_id=str(uuid4()), invitee=invitee, settings=settings
        )
        answer = await self._matchmaking.CreateInvite(
            request, metadata=self._metadata, timeout=CALL_TIMEOUT_S
        )
        return answer.invite.name

    async def accept(self, invite: str) -> str:
        """Accepts an invite and returns the match's name."""
        request = matchmaking_service_pb2.AcceptInviteRequest(name=invite, request_id=str(uuid4()))
        answer = await self._matchmaking.AcceptInvite(
            request, metadata=self._metadata, timeout=CALL_TIMEOUT_S
        )
        return answer.invite.match

    async def play(self, match: str) -> History:
        """Takes his seat, plays to the end, and returns the history he has verified."""
        join = match_service_pb2.JoinMatchRequest(name=match, request_id=str(uuid4()))
        await self._matches.JoinMatch(join, metadata=self._metadata, timeout=CALL_TIMEOUT_S)

        watch = match_service_pb2.WatchMatchRequest(name=match, after_turn=0)
        updates = self._matches.WatchMatch(watch, metadata=self._metadata, timeout=MATCH_TIMEOUT_S)
        first = await anext(aiter(updates))
        table = Table(self.name, first.snapshot)
        finished = False
        async for update in updates:
            match update.WhichOneof("update"):
                case "turn":
                    table.resolve(update.turn)
                case "status" if table.is_due(update.status):
                    await self._seal(table, secrets.choice(table.legal_cells()))
                case "finished":
                    table.history.check_end(update.finished)
                    finished = True
        if not finished:
            raise RuntimeError("the stream ended before the match")
        return table.history

    async def transcript(self, match: str) -> match_service_pb2.Transcript:
        """The whole match, to be verified offline."""
        request = match_service_pb2.GetTranscriptRequest(name=match)
        answer = await self._matches.GetTranscript(
            request, metadata=self._metadata, timeout=CALL_TIMEOUT_S
        )
        return answer.transcript

    async def _seal(self, table: "Table", cell: int) -> None:
        move = match_service_pb2.OpenMove(cell=cell, salt=secrets.token_bytes(sealing.SALT_BYTES))
        commitment = table.commit(move)
        request = match_service_pb2.SealMoveRequest(
            name=table.history.match,
            request_id=str(uuid4()),
            turn=table.history.turn + 1,
            open=move,
            previous_hash=table.history.hash,
        )
        answer = await self._matches.SealMove(
            request, metadata=self._metadata, timeout=CALL_TIMEOUT_S
        )
        receipt = answer.receipt
        if (receipt.match, receipt.turn, receipt.seat, receipt.commitment) != (
            request.name,
            request.turn,
            table.seat,
            commitment,
        ):
            raise RuntimeError(f"turn {request.turn}: the receipt is not for what was sealed")


class Table:
    """What one player knows of a match: the verified history, the board, and what he sealed."""

    def __init__(self, player: str, snapshot: match_service_pb2.MatchSnapshot) -> None:
        self.history = History(snapshot.name, snapshot.settings, snapshot.black, snapshot.white)
        self.seat = game_pb2.SEAT_BLACK if snapshot.black.player == player else game_pb2.SEAT_WHITE
        self._player = player
        self._position = snapshot.position
        self._sealed: match_service_pb2.OpenMove | None = None

    def is_due(self, status: game_pb2.MatchStatus) -> bool:
        """Whether the player has yet to seal the open turn."""
        return (
            status.state == game_pb2.MATCH_STATE_OPEN
            and status.turn == self.history.turn + 1
            and self._sealed is None
        )

    def legal_cells(self) -> list[int]:
        """The empty cells."""
        return [cell for cell, piece in enumerate(self._position.cells, 1) if piece == "."]

    def commit(self, move: match_service_pb2.OpenMove) -> bytes:
        """Remembers the move of the open turn and returns its commitment."""
        self._sealed = move
        return sealing.commitment(
            self.history.match,
            turn=self.history.turn + 1,
            seat=self.seat,
            player=self._player,
            previous_hash=self.history.hash,
            cell=move.cell,
            salt=move.salt,
        )

    def resolve(self, turn: game_pb2.ResolvedTurn) -> None:
        """Verifies a turn and that the player's own move is in it."""
        self.history.add(turn)
        own = turn.black if self.seat == game_pb2.SEAT_BLACK else turn.white
        if self._sealed is None or (own.cell, own.salt) != (self._sealed.cell, self._sealed.salt):
            raise RuntimeError(f"turn {turn.turn}: this is not the move that was sealed")
        self._position = turn.position
        self._sealed = None


async def play_match(server: str) -> None:
    """Plays one match on the server at an address like `http://127.0.0.1:7654`."""
    async with grpc.aio.insecure_channel(server.removeprefix("http://")) as channel:
        ann = await Player.log_in(channel, "players/ann")
        bob = await Player.log_in(channel, "players/bob")
        settings = game_pb2.MatchSettings(turn_limit=TURN_LIMIT)
        match = await bob.accept(await ann.invite(bob.name, settings))
        print(f"{match}: {ann.name} against {bob.name}")

        anns, bobs = await asyncio.gather(ann.play(match), bob.play(match))
        if anns.hash != bobs.hash:
            raise RuntimeError("the two players were told different matches")

        transcript = await ann.transcript(match)
        if verify_transcript(transcript).hash != anns.hash or not transcript.HasField("finish"):
            raise RuntimeError("the transcript is not the match that was played")
    show(transcript)


def show(transcript: match_service_pb2.Transcript) -> None:
    """Prints the last board, row 9 first, and how the match ended."""
    finish = transcript.finish
    cells = transcript.turns[-1].position.cells
    for row in reversed(range(9)):
        print(f"  {row + 1} {' '.join(cells[row * 9 : row * 9 + 9])}")
    print("    A B C D E F G H I")
    result = game_pb2.MatchResult.Name(finish.result).removeprefix("MATCH_RESULT_")
    reason = game_pb2.EndReason.Name(finish.reason).removeprefix("END_REASON_")
    print(f"{finish.turn} turns, {result} by {reason}; all of it verified up to {finish.end_hash.hex()}")


def main() -> None:
    """The address is the first argument, or `WTS_SERVER`, or the server's default."""
    server = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("WTS_SERVER", DEFAULT_SERVER)
    asyncio.run(play_match(server))


if __name__ == "__main__":
    main()
