/** A transcript verifies as it is, and no claim in it can be changed. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { clone } from "@bufbuild/protobuf";
import type { Timestamp } from "@bufbuild/protobuf/wkt";

import type { Claim, SealedOpening, Transcript } from "../src/index.js";
import { ClaimError, Seat, TranscriptSchema, verifyTranscript } from "../src/index.js";
import * as vectors from "./vectors.js";

const VALID = vectors.rows<vectors.MatchRow>("transcripts.jsonl").filter((row) => row.refused === null);

test("every match of the vectors verifies", () => {
  for (const row of VALID) {
    assert.equal(verifyTranscript(vectors.transcript(row)).turn, row.turns.length, row.id);
  }
});

test("a change is found where it was made", () => {
  const row = VALID.find((each) => each.turns.length > 1);
  assert.ok(row);
  const transcript = vectors.transcript(row);

  const check = (change: (of: Transcript) => void, claim: Claim, turn?: number, seat?: Seat): void => {
    const changed = clone(TranscriptSchema, transcript);
    change(changed);
    assert.throws(
      () => verifyTranscript(changed),
      (error) => {
        assert.ok(error instanceof ClaimError);
        assert.deepEqual([error.claim, error.turn, error.seat], [claim, turn, seat]);
        return true;
      },
    );
  };

  check((of) => (set(of.settings).turnLimit += 1), "first_hash");
  check((of) => move(of.turns[1]?.white), "commitment", 2, Seat.WHITE);
  check((of) => delay(of.turns[1]?.black?.sealTime), "turn_hash", 2);
  check((of) => set(of.turns[0]?.position).eggs.push(1), "turn_hash", 1);
  check((of) => of.turns.pop(), "hash_count", row.turns.length);
  check((of) => delay(of.finish?.finishTime), "end_hash");
});

function move(opening: SealedOpening | undefined): void {
  const { cell } = set(opening);
  set(opening).cell = (cell % 81) + 1;
}

function delay(time: Timestamp | undefined): void {
  set(time).seconds += 1n;
}

function set<T>(value: T | undefined): T {
  assert.ok(value);
  return value;
}
