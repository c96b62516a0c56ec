"""The project's vectors of commitments and hashes hold for this package."""

import doctest
import unittest

import vectors
from whattheshell import sealing
from whattheshell.v1 import match_service_pb2


class Vectors(unittest.TestCase):
    """One test over the file, one subtest a row."""

    def test_every_digest_is_the_one_of_the_vectors(self) -> None:
        for row in vectors.rows("commitments.jsonl"):
            if has_two_time_controls(row):
                continue
            with self.subTest(row["id"]):
                if row["kind"] == "opening":
                    self.assertEqual(commitment(row).hex() == row["commitment"], row["opens"])
                else:
                    self.assertEqual(digest(row).hex(), row["digest"])

    def test_the_example_of_the_documentation_holds(self) -> None:
        self.assertEqual(doctest.testmod(sealing).failed, 0)


class Refusals(unittest.TestCase):
    def test_a_match_has_one_spelling(self) -> None:
        names = ["", "matches/x", "0102030405060708090a0b0c0d0e0f10", "AAAAAAAA-0000-7000-8000-000000000000"]
        for name in names:
            receipt = match_service_pb2.SealReceipt(match=name)
            with self.subTest(name), self.assertRaises(ValueError):
                sealing.receipt_digest(receipt)

    def test_what_is_too_long_for_the_format_is_no_digest(self) -> None:
        with self.assertRaises(ValueError):
            sealing.transcript_digest(bytes(32), "k" * 65_536)


def has_two_time_controls(row: vectors.Row) -> bool:
    """Whether no message of the API can hold the row's settings, though they can be hashed."""
    settings = row.get("settings") or {"turn_time_ms": None, "bank": None}
    return settings["turn_time_ms"] is not None and settings["bank"] is not None


def digest(row: vectors.Row) -> bytes:
    match row["kind"]:
        case "commitment":
            return commitment(row)
        case "match":
            black, white = vectors.match_seat(row["black"]), vectors.match_seat(row["white"])
            return sealing.first_hash(row["match"], vectors.match_settings(row["settings"]), black, white)
        case "turn":
            turn = vectors.resolved_turn(row, 1, row["position"], row["digest"])
            return sealing.turn_hash(bytes.fromhex(row["previous"]), turn)
        case "end":
            finish = vectors.match_finished(row, 1, row["digest"])
            return sealing.end_hash(bytes.fromhex(row["last"]), finish)
        case "receipt":
            receipt = match_service_pb2.SealReceipt(
                match=row["match"],
                turn=row["turn"],
                seat=vectors.SEATS[row["seat"]],
                commitment=bytes.fromhex(row["commitment"]),
                seal_time=vectors.stamp(row["sealed_ms"]),
                key_id=row["key_id"],
            )
            return sealing.receipt_digest(receipt)
        case "transcript":
            return sealing.transcript_digest(bytes.fromhex(row["end"]), row["key_id"])
        case "player":
            return sealing.player_digest(bytes.fromhex(row["commitment"]))
    raise AssertionError(f"unknown kind {row['kind']}")


def commitment(row: vectors.Row) -> bytes:
    return sealing.commitment(
        row["match"],
        turn=row["turn"],
        seat=vectors.SEATS[row["seat"]],
        player=row["player"],
        previous_hash=bytes.fromhex(row["previous"]),
        cell=row["cell"],
        salt=bytes.fromhex(row["salt"]),
    )


if __name__ == "__main__":
    unittest.main()
