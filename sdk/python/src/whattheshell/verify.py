"""Whether the openings and hashes of a match hold, from its settings to its end.

Checked are h_0, each turn's two commitments, h_t after each turn, and h_end. So whoever holds a later hash
knows that nothing before it was changed. Not checked here: whether each board follows from the rules, the
stamps' order, and signatures.
"""

from whattheshell import sealing
from whattheshell.v1 import game_pb2, match_service_pb2


class ClaimError(ValueError):
    """A claim of the server that does not hold."""

    def __init__(self, claim: str, turn: int | None = None, seat: str | None = None) -> None:
        """`claim` is `hash_count`, `first_hash`, `commitment`, `turn_hash` or `end_hash`."""
        place = "".join([f", turn {turn}" if turn is not None else "", f", {seat}" if seat else ""])
        super().__init__(f"does not hold: {claim}{place}")
        self.claim = claim
        self.turn = turn
        self.seat = seat


class History:
    """The part of a match that is verified.

    A history begins with the settings and grows by turns. Whatever does not hold raises `ClaimError`, and
    whatever does not fit the format `ValueError`; the history is then as it was.
    """

    def __init__(
        self,
        match: str,
        settings: game_pb2.MatchSettings,
        black: game_pb2.MatchSeat,
        white: game_pb2.MatchSeat,
    ) -> None:
        self.match = match
        """The match, `matches/{match}`."""
        self.turn = 0
        """The last verified turn; 0 before the first."""
        self.hash = sealing.first_hash(match, settings, black, white)
        """The hash after that turn, 32 bytes."""
        self._players = (black.player, white.player)

    def add(self, turn: game_pb2.ResolvedTurn) -> None:
        """Verifies the next turn."""
        if turn.turn != self.turn + 1:
            raise ClaimError("hash_count", turn.turn)
        black, white = self._players
        self._check_opening(turn.turn, game_pb2.SEAT_BLACK, black, turn.black)
        self._check_opening(turn.turn, game_pb2.SEAT_WHITE, white, turn.white)
        if sealing.turn_hash(self.hash, turn) != turn.hash:
            raise ClaimError("turn_hash", turn.turn)
        self.turn, self.hash = turn.turn, turn.hash

    def check_end(self, finish: game_pb2.MatchFinished) -> None:
        """Verifies that the match ended after the last turn of this history."""
        if finish.turn != self.turn:
            raise ClaimError("hash_count", finish.turn)
        if sealing.end_hash(self.hash, finish) != finish.end_hash:
            raise ClaimError("end_hash")

    def _check_opening(
        self,
        turn: int,
        seat: game_pb2.Seat.ValueType,
        player: str,
        opening: game_pb2.SealedOpening,
    ) -> None:
        expected = sealing.commitment(
            self.match,
            turn=turn,
            seat=seat,
            player=player,
            previous_hash=self.hash,
            cell=opening.cell,
            salt=opening.salt,
        )
        if expected != opening.commitment:
            raise ClaimError("commitment", turn, "black" if seat == game_pb2.SEAT_BLACK else "white")


def verify_transcript(transcript: match_service_pb2.Transcript) -> History:
    """Verifies a whole transcript, of a finished match or of a live one so far.

    Raises `ClaimError` with the first claim that does not hold, and `ValueError` for what does not fit the
    format.
    """
    history = History(transcript.match, transcript.settings, transcript.black, transcript.white)
    if history.hash != transcript.first_hash:
        raise ClaimError("first_hash")
    for turn in transcript.turns:
        history.add(turn)
    if transcript.HasField("finish"):
        history.check_end(transcript.finish)
    return history
