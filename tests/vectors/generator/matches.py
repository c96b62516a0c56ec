"""Matches that hold: every ending, every kind of settings."""

from .played import Played, search, settings
from .sealing import SEATS
from .verifier import (
    ABORTED, AGREED_DRAW, BLACK_WINS, BOTH_FLAGGED, DRAW, FAILED_REVEAL, FLAG, IDLE, LOST_HISTORY, NO_SHOW, OPERATOR,
    RESIGNATION, VOID, WHITE_WINS,
)

BLACK_ROW = "A1/A9 B1/C8 C1/E9 D1/G8 E1/I9"
BOTH_ROWS = "A1/A9 B1/B9 C1/C9 D1/D9 E1/E9"


def valid_matches():
    """Matches that hold: (category, note, match)."""
    hidden = settings(mode=2, seal_status=2, start_time_ms=20_000, spectators=2)
    bank = settings(turn_time_ms=None, bank={"initial_ms": 300_000, "increment_ms": 3_000}, spectators=2)
    reveal = settings(seal_mode=2, reveal_time_ms=10_000)
    bot = settings(bot={"seat": "white", "level": 3})
    long_names = {"black": "players/" + "a" * 64, "white": "players/" + "Z.9_-" * 12 + "Z.9_"}
    keys = {"signs": ("black", "white")}

    def outcome(*statuses):
        return lambda played: played.position.outcome()[0] in statuses

    yield "row", "black's row on the edge", Played("row-1").moves(BLACK_ROW).decided()
    yield "row", "white's row; both sign", Played("row-2", hidden, **keys).moves(
        "A9/A1 C8/B1 E9/C1 G8/D1 I9/E1").decided().signed()
    yield "row", "random play with a bank clock", search(
        outcome("black_wins"), lambda n: Played(f"row-3-{n}", bank).random(60)).decided()
    yield "row", "random play with collisions, captures and hatchings; long names", search(
        outcome("white_wins"), lambda n: Played(f"row-4-{n}", hidden, **long_names).random(60, 25)).decided()
    yield "row", "commit-reveal; black signs", search(
        outcome("black_wins", "white_wins"),
        lambda n: Played(f"row-5-{n}", reveal, signs=("black",)).random(60, 10)).decided()
    yield "sudden_death", "both complete a row in one turn, black's is longer", Played("sudden-1").moves(
        "A1/A9 B1/B9 D1/C9 E1/D9 F1/G9 C1/E9").decided().signed("k1")
    yield "sudden_death", "five each, then black extends", Played("sudden-2", hidden).moves(
        BOTH_ROWS + " F1/H5").decided()
    yield "sudden_death", "five each, a collision between, then white extends", Played("sudden-3", bank).moves(
        BOTH_ROWS + " E5/E5 I5/F9").decided()
    yield "sudden_death", "mirrored play, then random play", search(
        outcome("black_wins", "white_wins"),
        lambda n: Played(f"sudden-4-{n}").mirrored()).decided()
    yield "full_board", "the board fills in a sudden death", search(
        outcome("draw"), lambda n: Played(f"full-2-{n}").mirrored()).decided()
    yield "sudden_death", "a sudden death that both break goes on and ends later", search(
        lambda played: any(
            before.split()[2] == "sudden_death" and after.split()[2] == "ongoing"
            for before, after in zip(played.row["positions"], played.row["positions"][1:])),
        lambda n: Played(f"sudden-6-{n}").mirrored()).decided()
    yield "sudden_death", "one row breaks and the other stands", search(
        lambda played: (
            played.row["positions"][-2].split()[2] == "sudden_death"
            and "0" in played.row["positions"][-1].split()[3].split(":")),
        lambda n: Played(f"sudden-7-{n}").mirrored()).decided()
    yield "full_board", "nothing but collisions", Played("full-1").random(81, 100).decided()
    yield "turn_limit", "a limit of 12", search(
        outcome("ongoing"), lambda n: Played(f"limit-1-{n}", settings(turn_limit=12)).random(12, 30)).decided()
    yield "turn_limit", "the limit falls into a sudden death", Played(
        "limit-2", settings(turn_limit=5)).moves(BOTH_ROWS).decided()
    yield "row", "a row in the last turn that the limit allows", Played(
        "limit-3", settings(turn_limit=5)).moves(BLACK_ROW).decided()
    yield "resignation", "in the first turn", Played("resign-1").end(WHITE_WINS, RESIGNATION, after_ms=1)
    yield "resignation", "aborted: a player gave up before the first turn opened", Played("resign-4", hidden).end(
        ABORTED, RESIGNATION, (), 900)
    yield "resignation", "the opponent had sealed", Played("resign-2", **keys).random(4).end(
        BLACK_WINS, RESIGNATION, ["black"], 777).signed()
    yield "resignation", "while both reveal", Played("resign-3", reveal).random(3).end(
        WHITE_WINS, RESIGNATION, SEATS, 4_000)
    yield "agreed_draw", "", Played("agreed-1", bank).random(6, 20).end(DRAW, AGREED_DRAW, ["white"], 12)
    yield "flag", "white runs out, black had sealed", Played("flag-1").random(5).end(
        BLACK_WINS, FLAG, ["black"], 30_000)
    yield "flag", "black's bank runs out first, white had not sealed", Played("flag-2", bank).random(7).end(
        WHITE_WINS, FLAG, (), 299_000)
    yield "both_flagged", "", Played("flag-3", hidden).random(3).end(DRAW, BOTH_FLAGGED, (), 30_000)
    yield "failed_reveal", "white does not reveal", Played("reveal-1", reveal).random(4).end(
        BLACK_WINS, FAILED_REVEAL, SEATS, 25_000)
    yield "failed_reveal", "neither reveals", Played("reveal-2", reveal, **keys).random(2).end(
        DRAW, FAILED_REVEAL, SEATS, 25_000)
    yield "no_show", "", Played("no-show-1", hidden).end(ABORTED, NO_SHOW, (), 20_000).signed()
    yield "operator", "aborted before the first turn opened", Played("operator-1").end(ABORTED, OPERATOR)
    yield "operator", "void in its fourth turn", Played("operator-2").random(3).end(VOID, OPERATOR, ["white"], 5)
    yield "idle", "", Played("idle-1", settings(turn_time_ms=None)).random(2).end(VOID, IDLE, ["black"], 2_592_000_000)
    yield "lost_history", "", Played("lost-1").random(5, 20).end(VOID, LOST_HISTORY, (), 60_000)
    yield "bot", "a bot that seals at the opening", search(
        outcome("black_wins", "white_wins"), lambda n: Played(f"bot-1-{n}", bot, white="players/bot").random(60)).decided()
    yield "unfinished", "created only", Played("open-1")
    yield "unfinished", "an egg that waits and a capture", search(
        lambda played: any(
            before.count(".", 0, 81) < after.count(".", 0, 81)
            for before, after in zip(played.row["positions"], played.row["positions"][1:])),
        lambda n: Played(f"open-2-{n}").random(14, 30))
