/**
 * Whether the openings and hashes of a match hold, from its settings to its end.
 *
 * Checked are h_0, each turn's two commitments, h_t after each turn, and h_end. So whoever holds a later
 * hash knows that nothing before it was changed. Not checked here: whether each board follows from the
 * rules, the stamps' order, and signatures.
 */

import type { MatchFinished, MatchSeat, MatchSettings, ResolvedTurn } from "./gen/whattheshell/v1/game_pb.js";
import { Seat } from "./gen/whattheshell/v1/game_pb.js";
import type { Transcript } from "./gen/whattheshell/v1/match_service_pb.js";
import * as sealing from "./sealing.js";

/** What the server claims. */
export type Claim = "hash_count" | "first_hash" | "commitment" | "turn_hash" | "end_hash";

/** A claim of the server that does not hold. */
export class ClaimError extends Error {
  override readonly name = "ClaimError";

  constructor(
    readonly claim: Claim,
    readonly turn?: number,
    readonly seat?: Seat,
  ) {
    const place = [turn === undefined ? "" : `, turn ${turn}`, seat === undefined ? "" : `, ${Seat[seat]}`];
    super(`does not hold: ${claim}${place.join("")}`);
  }
}

/** What a history begins with: a snapshot and a transcript both have it. */
export interface Beginning {
  settings?: MatchSettings | undefined;
  black?: MatchSeat | undefined;
  white?: MatchSeat | undefined;
}

/**
 * The part of a match that is verified.
 *
 * A history begins with the settings and grows by turns. Whatever does not hold throws a `ClaimError`, and
 * whatever does not fit the format a `RangeError`; the history is then as it was.
 */
export class History {
  /** The last verified turn; 0 before the first. */
  turn = 0;
  /** The hash after that turn, 32 bytes. */
  hash: Uint8Array;
  readonly #black: string;
  readonly #white: string;

  /** `match` is `matches/{match}`. */
  constructor(
    readonly match: string,
    { settings, black, white }: Beginning,
  ) {
    if (!settings || !black || !white) {
      throw new RangeError(`${match} lacks its settings or a seat`);
    }
    this.hash = sealing.firstHash(match, settings, black, white);
    this.#black = black.player;
    this.#white = white.player;
  }

  /** Verifies the next turn. */
  add(turn: ResolvedTurn): void {
    if (turn.turn !== this.turn + 1) {
      throw new ClaimError("hash_count", turn.turn);
    }
    this.#checkOpening(turn, Seat.BLACK);
    this.#checkOpening(turn, Seat.WHITE);
    if (!same(sealing.turnHash(this.hash, turn), turn.hash)) {
      throw new ClaimError("turn_hash", turn.turn);
    }
    this.turn = turn.turn;
    this.hash = turn.hash;
  }

  /** Verifies that the match ended after the last turn of this history. */
  checkEnd(finish: MatchFinished): void {
    if (finish.turn !== this.turn) {
      throw new ClaimError("hash_count", finish.turn);
    }
    if (!same(sealing.endHash(this.hash, finish), finish.endHash)) {
      throw new ClaimError("end_hash");
    }
  }

  #checkOpening(turn: ResolvedTurn, seat: Seat.BLACK | Seat.WHITE): void {
    const opening = seat === Seat.BLACK ? turn.black : turn.white;
    if (!opening) {
      throw new RangeError(`turn ${turn.turn} lacks an opening`);
    }
    const expected = sealing.commitment({
      match: this.match,
      turn: turn.turn,
      seat,
      player: seat === Seat.BLACK ? this.#black : this.#white,
      previousHash: this.hash,
      cell: opening.cell,
      salt: opening.salt,
    });
    if (!same(expected, opening.commitment)) {
      throw new ClaimError("commitment", turn.turn, seat);
    }
  }
}

/**
 * Verifies a whole transcript, of a finished match or of a live one so far.
 *
 * Throws a `ClaimError` with the first claim that does not hold, and a `RangeError` for what does not fit
 * the format.
 */
export function verifyTranscript(transcript: Transcript): History {
  const history = new History(transcript.match, transcript);
  if (!same(history.hash, transcript.firstHash)) {
    throw new ClaimError("first_hash");
  }
  for (const turn of transcript.turns) {
    history.add(turn);
  }
  if (transcript.finish) {
    history.checkEnd(transcript.finish);
  }
  return history;
}

/** Whether two byte strings are equal. */
export function same(left: Uint8Array, right: Uint8Array): boolean {
  return Buffer.compare(left, right) === 0;
}
