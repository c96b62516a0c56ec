"""A transcript verifies as it is, and no claim in it can be changed."""

import unittest
from collections.abc import Callable

import vectors
from whattheshell.v1.match_service_pb2 import Transcript
from whattheshell.verify import ClaimError, verify_transcript


class Verify(unittest.TestCase):
    def setUp(self) -> None:
        valid = [row for row in vectors.rows("transcripts.jsonl") if row["refused"] is None]
        self.transcripts = {row["id"]: vectors.transcript(row) for row in valid}

    def test_every_match_of_the_vectors_verifies(self) -> None:
        for name, transcript in self.transcripts.items():
            with self.subTest(name):
                self.assertEqual(verify_transcript(transcript).turn, len(transcript.turns))

    def test_a_change_is_found_where_it_was_made(self) -> None:
        transcript = next(each for each in self.transcripts.values() if len(each.turns) > 1)
        finish = transcript.finish

        def check(change: Callable[[Transcript], object], *claim: object) -> None:
            changed = Transcript.FromString(transcript.SerializeToString())
            change(changed)
            with self.subTest(claim), self.assertRaises(ClaimError) as caught:
                verify_transcript(changed)
            error = caught.exception
            self.assertEqual((error.claim, error.turn, error.seat), claim)

        def moves(of: Transcript) -> None:
            of.turns[1].white.cell = of.turns[1].white.cell % 81 + 1

        def seals_later(of: Transcript) -> None:
            of.turns[1].black.seal_time.seconds += 1

        def lays_an_egg(of: Transcript) -> None:
            of.turns[0].position.eggs.append(1)

        def ends_later(of: Transcript) -> None:
            of.finish.finish_time.seconds += 1

        def plays_longer(of: Transcript) -> None:
            of.settings.turn_limit += 1

        def forgets_a_turn(of: Transcript) -> None:
            del of.turns[-1]

        check(plays_longer, "first_hash", None, None)
        check(moves, "commitment", 2, "white")
        check(seals_later, "turn_hash", 2, None)
        check(lays_an_egg, "turn_hash", 1, None)
        check(forgets_a_turn, "hash_count", finish.turn, None)
        check(ends_later, "end_hash", None, None)


if __name__ == "__main__":
    unittest.main()
