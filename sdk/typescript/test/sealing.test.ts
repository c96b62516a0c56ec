/** The project's vectors of commitments and hashes hold for this package. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { create } from "@bufbuild/protobuf";

import { sealing, SealReceiptSchema } from "../src/index.js";
import * as vectors from "./vectors.js";

test("every digest is the one of the vectors", () => {
  for (const row of vectors.rows<vectors.SealingRow>("commitments.jsonl")) {
    if (row.kind === "opening") {
      assert.equal(hex(commitment(row)) === row.commitment, row.opens, row.id);
    } else if (!hasTwoTimeControls(row)) {
      assert.equal(hex(digest(row)), row.digest, row.id);
    }
  }
});

test("a match has one spelling", () => {
  const names = ["", "matches/x", "0102030405060708090a0b0c0d0e0f10", "AAAAAAAA-0000-7000-8000-000000000000"];
  for (const name of names) {
    assert.throws(() => sealing.receiptDigest(create(SealReceiptSchema, { match: name })), RangeError);
  }
});

test("what is too long for the format is no digest", () => {
  assert.throws(() => sealing.transcriptDigest(new Uint8Array(32), "k".repeat(65_536)), RangeError);
});

/** Whether no message of the API can hold the row's settings, though they can be hashed. */
function hasTwoTimeControls(row: vectors.SealingRow): boolean {
  return row.kind === "match" && row.settings.turn_time_ms !== null && row.settings.bank !== null;
}

function digest(row: Exclude<vectors.SealingRow, { kind: "opening" }>): Uint8Array {
  switch (row.kind) {
    case "commitment":
      return commitment(row);
    case "match": {
      const settings = vectors.matchSettings(row.settings);
      const [black, white] = [vectors.matchSeat(row.black), vectors.matchSeat(row.white)];
      return sealing.firstHash(row.match, settings, black, white);
    }
    case "turn": {
      const turn = vectors.resolvedTurn(row, 1, row.position, row.digest);
      return sealing.turnHash(vectors.bytes(row.previous), turn);
    }
    case "end":
      return sealing.endHash(vectors.bytes(row.last), vectors.matchFinished(row, 1, row.digest));
    case "receipt": {
      const receipt = create(SealReceiptSchema, {
        match: row.match,
        turn: row.turn,
        seat: vectors.seat(row.seat),
        commitment: vectors.bytes(row.commitment),
        sealTime: vectors.stamp(row.sealed_ms),
        keyId: row.key_id,
      });
      return sealing.receiptDigest(receipt);
    }
    case "transcript":
      return sealing.transcriptDigest(vectors.bytes(row.end), row.key_id);
    case "player":
      return sealing.playerDigest(vectors.bytes(row.commitment));
  }
}

function commitment(row: vectors.CommitmentRow): Uint8Array {
  return sealing.commitment({
    match: row.match,
    turn: row.turn,
    seat: vectors.seat(row.seat),
    player: row.player,
    previousHash: vectors.bytes(row.previous),
    cell: row.cell,
    salt: vectors.bytes(row.salt),
  });
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("hex");
}
