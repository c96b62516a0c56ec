/** The project's test vectors, as the API's messages. */

import { readFileSync } from "node:fs";

import type { MessageInitShape } from "@bufbuild/protobuf";
import { create } from "@bufbuild/protobuf";
import type { Duration, Timestamp } from "@bufbuild/protobuf/wkt";
import { DurationSchema, TimestampSchema } from "@bufbuild/protobuf/wkt";

import type {
  MatchFinished,
  MatchSeat,
  MatchSettings,
  ResolvedTurn,
  SealedOpeningSchema,
  Transcript,
} from "../src/index.js";
import {
  MatchFinishedSchema,
  MatchSeatSchema,
  MatchSettingsSchema,
  PositionStatus,
  ResolvedTurnSchema,
  Seat,
  TranscriptSchema,
} from "../src/index.js";

export type SeatName = "black" | "white";

export interface SettingsRow {
  rules_version: string;
  turn_time_ms: number | null;
  bank: { initial_ms: number; increment_ms: number } | null;
  seal_mode: number;
  reveal_time_ms: number | null;
  mode: number;
  spectators: number;
  seal_status: number;
  start_time_ms: number | null;
  turn_limit: number;
  idle_limit_ms: number;
  bot: { seat: SeatName; level: number } | null;
}

export interface SeatRow {
  player: string;
  public_key: string | null;
}

export interface OpeningRow {
  cell: number;
  salt: string;
  commitment: string;
  sealed_ms: number;
  signature: string | null;
}

export interface TurnRow {
  opened_ms: number;
  resolved_ms: number;
  black: OpeningRow;
  white: OpeningRow;
}

export interface EndingRow {
  result: number;
  reason: number;
  time_ms: number;
  unresolved: Record<SeatName, string | null>;
}

export interface CommitmentRow {
  match: string;
  turn: number;
  seat: SeatName;
  player: string;
  previous: string;
  cell: number;
  salt: string;
}

/** A row of `commitments.jsonl`. */
export type SealingRow = { id: string } & (
  | ({ kind: "commitment"; digest: string } & CommitmentRow)
  | ({ kind: "opening"; commitment: string; opens: boolean } & CommitmentRow)
  | { kind: "match"; digest: string; match: string; settings: SettingsRow; black: SeatRow; white: SeatRow }
  | ({ kind: "turn"; digest: string; previous: string; position: string } & TurnRow)
  | ({ kind: "end"; digest: string; last: string } & EndingRow)
  | {
      kind: "receipt";
      digest: string;
      match: string;
      turn: number;
      seat: SeatName;
      commitment: string;
      sealed_ms: number;
      key_id: string;
    }
  | { kind: "transcript"; digest: string; end: string; key_id: string }
  | { kind: "player"; digest: string; commitment: string }
);

/** A row of `transcripts.jsonl`: `positions` only where no claim is false. */
export interface MatchRow {
  id: string;
  match: string;
  settings: SettingsRow;
  black: SeatRow;
  white: SeatRow;
  first_hash: string;
  turns: TurnRow[];
  turn_hashes: string[];
  positions?: string[];
  ending: EndingRow | null;
  end_hash: string | null;
  refused: object | null;
}

/** The rows of a file of vectors. */
export function rows<Row extends SealingRow | MatchRow>(name: string): Row[] {
  // From `dist/test`.
  const file = new URL(`../../../../tests/vectors/${name}`, import.meta.url);
  const lines = readFileSync(file, "utf8").trimEnd().split("\n");
  return lines.map((line) => JSON.parse(line) as Row);
}

export function seat(name: SeatName): Seat {
  return name === "black" ? Seat.BLACK : Seat.WHITE;
}

export function bytes(hex: string | null): Uint8Array {
  return Buffer.from(hex ?? "", "hex");
}

export function stamp(ms: number): Timestamp {
  return create(TimestampSchema, secondsAndNanos(ms));
}

export function matchSettings(row: SettingsRow): MatchSettings {
  return create(MatchSettingsSchema, {
    rulesVersion: row.rules_version,
    timeControl: timeControl(row),
    sealMode: row.seal_mode,
    revealTime: duration(row.reveal_time_ms),
    mode: row.mode,
    spectators: row.spectators,
    sealStatus: row.seal_status,
    startTime: duration(row.start_time_ms),
    turnLimit: row.turn_limit,
    idleLimit: duration(row.idle_limit_ms),
    bot: row.bot ? { seat: seat(row.bot.seat), level: row.bot.level } : undefined,
  });
}

export function matchSeat(row: SeatRow): MatchSeat {
  return create(MatchSeatSchema, { player: row.player, publicKey: bytes(row.public_key) });
}

/** A turn, its number, the canonical line of the position after it, and its hash. */
export function resolvedTurn(row: TurnRow, turn: number, line: string, digest: string): ResolvedTurn {
  const [cells, eggs, status, counts] = line.trimEnd().split(" ") as [string, string, string, string];
  const [black, white] = counts.split(":").map(Number);
  return create(ResolvedTurnSchema, {
    turn,
    black: opening(row.black),
    white: opening(row.white),
    position: {
      cells,
      eggs: eggs === "-" ? [] : eggs.split(",").map(cell),
      status: PositionStatus[status.toUpperCase() as keyof typeof PositionStatus],
      blackWinningTurtles: black ?? 0,
      whiteWinningTurtles: white ?? 0,
    },
    hash: bytes(digest),
    openTime: stamp(row.opened_ms),
    resolveTime: stamp(row.resolved_ms),
  });
}

export function matchFinished(row: EndingRow, turn: number, digest: string | null): MatchFinished {
  return create(MatchFinishedSchema, {
    result: row.result,
    reason: row.reason,
    finishTime: stamp(row.time_ms),
    turn,
    blackUnresolvedCommitment: bytes(row.unresolved.black),
    whiteUnresolvedCommitment: bytes(row.unresolved.white),
    endHash: bytes(digest),
  });
}

/** A whole match without a false claim. */
export function transcript(row: MatchRow): Transcript {
  const line = (index: number): string => row.positions?.[index] ?? "";
  const hash = (index: number): string => row.turn_hashes[index] ?? "";
  return create(TranscriptSchema, {
    match: `matches/${row.match}`,
    settings: matchSettings(row.settings),
    black: matchSeat(row.black),
    white: matchSeat(row.white),
    firstHash: bytes(row.first_hash),
    turns: row.turns.map((turn, index) => resolvedTurn(turn, index + 1, line(index), hash(index))),
    finish: row.ending ? matchFinished(row.ending, row.turns.length, row.end_hash) : undefined,
  });
}

function timeControl(
  row: SettingsRow,
): NonNullable<MessageInitShape<typeof MatchSettingsSchema>["timeControl"]> {
  if (row.bank) {
    const { initial_ms, increment_ms } = row.bank;
    return { case: "bank", value: { initial: duration(initial_ms), increment: duration(increment_ms) } };
  }
  const value = duration(row.turn_time_ms);
  return value ? { case: "turnTime", value } : { case: undefined };
}

function opening(row: OpeningRow): MessageInitShape<typeof SealedOpeningSchema> {
  return {
    cell: row.cell,
    salt: bytes(row.salt),
    commitment: bytes(row.commitment),
    playerSignature: bytes(row.signature),
    sealTime: stamp(row.sealed_ms),
  };
}

function duration(ms: number | null): Duration | undefined {
  return ms === null ? undefined : create(DurationSchema, secondsAndNanos(ms));
}

function secondsAndNanos(ms: number): { seconds: bigint; nanos: number } {
  return { seconds: BigInt(Math.floor(ms / 1000)), nanos: (ms % 1000) * 1_000_000 };
}

function cell(name: string): number {
  return (Number(name[1]) - 1) * 9 + "ABCDEFGHI".indexOf(name.charAt(0)) + 1;
}
