/**
 * Commitments and hashes, byte for byte as the protos specify them.
 *
 * Everything takes the API's own messages and returns the 32 bytes of a SHA-256. A value that does not fit
 * the format (a text of more than 65,535 bytes, a cell above 255, a match that is not named by a UUID)
 * throws a `RangeError`; nothing here looks at whether a value makes sense.
 */

import { createHash } from "node:crypto";

import type { Duration, Timestamp } from "@bufbuild/protobuf/wkt";

import type {
  MatchFinished,
  MatchSeat,
  MatchSettings,
  Position,
  ResolvedTurn,
  Seat,
} from "./gen/whattheshell/v1/game_pb.js";
import { PositionStatus } from "./gen/whattheshell/v1/game_pb.js";
import type { SealReceipt } from "./gen/whattheshell/v1/match_service_pb.js";

/** The length of a salt. */
export const SALT_BYTES = 32;

/** What a commitment binds. */
export interface Move {
  /** `matches/{match}`. */
  match: string;
  /** From 1. */
  turn: number;
  seat: Seat;
  /** `players/{player}`. */
  player: string;
  /** The hash of the turn before, h_0 for turn 1. */
  previousHash: Uint8Array;
  /** 1 to 81. */
  cell: number;
  /** `SALT_BYTES` from `randomBytes`, drawn for every turn: it keeps the cell secret. */
  salt: Uint8Array;
}

/** C: binds a player to a cell in one turn of one history. */
export function commitment(move: Move): Uint8Array {
  return digest(
    "seal",
    matchId(move.match),
    u32(move.turn),
    u8(move.seat),
    utf8(move.player),
    move.previousHash,
    u8(move.cell),
    move.salt,
  );
}

/** h_0: the match, its settings with every default filled in, and who plays. */
export function firstHash(
  match: string,
  settings: MatchSettings,
  black: MatchSeat,
  white: MatchSeat,
): Uint8Array {
  const control = settings.timeControl;
  const bank = control.case === "bank" ? control.value : undefined;
  const { bot } = settings;
  return digest(
    "match",
    matchId(match),
    utf8(settings.rulesVersion),
    control.case === "turnTime" ? milliseconds(control.value) : ABSENT,
    bank ? join(milliseconds(bank.initial), milliseconds(bank.increment)) : ABSENT,
    u64(settings.sealMode),
    settings.revealTime ? milliseconds(settings.revealTime) : ABSENT,
    u64(settings.mode),
    u64(settings.spectators),
    u64(settings.sealStatus),
    settings.startTime ? milliseconds(settings.startTime) : ABSENT,
    u64(settings.turnLimit),
    milliseconds(settings.idleLimit),
    bot ? join(u64(bot.seat), u64(bot.level)) : ABSENT,
    utf8(black.player),
    black.publicKey,
    utf8(white.player),
    white.publicKey,
  );
}

/** h_t: the history before a turn, what both sealed, when, and the board after it. */
export function turnHash(previousHash: Uint8Array, turn: ResolvedTurn): Uint8Array {
  const { black, white, position } = turn;
  if (!black || !white || !position) {
    throw new RangeError(`turn ${turn.turn} lacks an opening or its position`);
  }
  return digest(
    "turn",
    previousHash,
    black.commitment,
    white.commitment,
    join(u8(black.cell), black.salt),
    join(u8(white.cell), white.salt),
    join(...[turn.openTime, black.sealTime, white.sealTime, turn.resolveTime].map(milliseconds)),
    black.playerSignature,
    white.playerSignature,
    utf8(canonicalText(position)),
  );
}

/** h_end: the whole history, and how it ended. */
export function endHash(lastHash: Uint8Array, finish: MatchFinished): Uint8Array {
  return digest(
    "end",
    lastHash,
    u8(finish.result),
    u8(finish.reason),
    milliseconds(finish.finishTime),
    finish.blackUnresolvedCommitment,
    finish.whiteUnresolvedCommitment,
  );
}

/** What the server's signature of a receipt covers. */
export function receiptDigest(receipt: SealReceipt): Uint8Array {
  return digest(
    "receipt",
    matchId(receipt.match),
    u32(receipt.turn),
    u8(receipt.seat),
    receipt.commitment,
    milliseconds(receipt.sealTime),
    utf8(receipt.keyId),
  );
}

/** What the server's signature of a transcript covers; `end` is h_end. */
export function transcriptDigest(end: Uint8Array, keyId: string): Uint8Array {
  return digest("transcript", end, utf8(keyId));
}

/** What a player's signature of his commitment covers. */
export function playerDigest(sealed: Uint8Array): Uint8Array {
  return digest("player", sealed);
}

/** A position as the line that h_t covers, its LF included. */
export function canonicalText(position: Position): string {
  const eggs = position.eggs.map(cellName).join(",") || "-";
  const status = PositionStatus[position.status]?.toLowerCase();
  if (status === undefined) {
    throw new RangeError(`${position.status} is no status of a position that is known here`);
  }
  const counts = `${position.blackWinningTurtles}:${position.whiteWinningTurtles}`;
  return `${position.cells} ${eggs} ${status} ${counts}\n`;
}

/** The name of a cell: 1 is A1, 2 is B1, 81 is I9. */
export function cellName(cell: number): string {
  if (!Number.isInteger(cell) || cell < 1 || cell > 81) {
    throw new RangeError(`${cell} is no cell`);
  }
  return "ABCDEFGHI".charAt((cell - 1) % 9) + String(Math.ceil(cell / 9));
}

/** What does not apply. */
const ABSENT = new Uint8Array();

/** The SHA-256 of the values, each with its length before it. */
function digest(kind: string, ...values: Uint8Array[]): Uint8Array {
  const hash = createHash("sha256");
  for (const value of [utf8(`whattheshell.v1.${kind}`), ...values]) {
    hash.update(unsigned(value.length, 2)).update(value);
  }
  return hash.digest();
}

/** Lower-case and hyphenated: the API has one spelling. */
const MATCH = /^(?:matches\/)?([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})$/;

function matchId(name: string): Uint8Array {
  const uuid = MATCH.exec(name)?.[1];
  if (uuid === undefined) {
    throw new RangeError(`${name} is not named by a lower-case hyphenated UUID`);
  }
  return Buffer.from(uuid.replaceAll("-", ""), "hex");
}

/** A time that is unset counts as zero, as it does in the API's binary format. */
function milliseconds(time: Duration | Timestamp | undefined): Uint8Array {
  return time ? u64(time.seconds * 1000n + BigInt(Math.trunc(time.nanos / 1_000_000))) : u64(0);
}

function utf8(text: string): Uint8Array {
  return Buffer.from(text, "utf8");
}

function u8(value: number): Uint8Array {
  return unsigned(value, 1);
}

function u32(value: number): Uint8Array {
  return unsigned(value, 4);
}

function u64(value: number | bigint): Uint8Array {
  return unsigned(value, 8);
}

/** Big-endian. */
function unsigned(value: number | bigint, size: number): Uint8Array {
  const number = BigInt(value);
  if (number < 0n || number >> BigInt(8 * size) !== 0n) {
    throw new RangeError(`${value} is not an unsigned number of ${size} bytes`);
  }
  return Buffer.from(number.toString(16).padStart(2 * size, "0"), "hex");
}

function join(...values: Uint8Array[]): Uint8Array {
  return Buffer.concat(values);
}
