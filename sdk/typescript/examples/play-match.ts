/**
 * Two players play a whole match at random, check every turn, and verify the transcript.
 *
 *     wts serve --dev          # in another terminal
 *     npm run build
 *     npm run play             # or with the server's address, or WTS_SERVER set to it
 *
 * The server is not trusted: each player makes his commitments himself, compares the receipts with them,
 * and follows the chain of hashes from the settings to the end.
 */

import { randomBytes, randomInt, randomUUID } from "node:crypto";
import process from "node:process";

import { create } from "@bufbuild/protobuf";
import type { CallOptions, Client, Transport } from "@connectrpc/connect";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport, Http2SessionManager } from "@connectrpc/connect-node";

import type {
  MatchSettings,
  MatchSnapshot,
  MatchStatus,
  OpenMove,
  Position,
  ResolvedTurn,
  Transcript,
} from "../src/index.js";
import {
  EndReason,
  History,
  MatchmakingService,
  MatchResult,
  MatchService,
  MatchSettingsSchema,
  MatchState,
  OpenMoveSchema,
  PlayerService,
  same,
  sealing,
  Seat,
  verifyTranscript,
} from "../src/index.js";

const DEFAULT_SERVER = "http://127.0.0.1:7654";
/** How long one call may take. */
const CALL_TIMEOUT_MS = 10_000;
/** How long the whole match may take: players that choose at random need no time to think. */
const MATCH_TIMEOUT_MS = 60_000;
/** Random games usually end within 100 turns; the others are a draw here. */
const TURN_LIMIT = 200;

/** A player with his token. */
class Player {
  readonly #matches: Client<typeof MatchService>;
  readonly #matchmaking: Client<typeof MatchmakingService>;
  readonly #call: CallOptions;

  private constructor(
    transport: Transport,
    readonly name: string,
    token: string,
  ) {
    this.#matches = createClient(MatchService, transport);
    this.#matchmaking = createClient(MatchmakingService, transport);
    this.#call = { headers: { authorization: `Bearer ${token}` }, timeoutMs: CALL_TIMEOUT_MS };
  }

  /** A server in development mode gives everyone a token; else the game's back end asks for it. */
  static async logIn(transport: Transport, name: string): Promise<Player> {
    const players = createClient(PlayerService, transport);
    const { token } = await players.mintPlayerToken({ player: name }, { timeoutMs: CALL_TIMEOUT_MS });
    return new Player(transport, name, token);
  }

  /** Invites a player and returns the invite's name. */
  async invite(invitee: string, settings: MatchSettings): Promise<string> {
    const request = { requestId: randomUUID(), invitee, settings };
    const { invite } = await this.#matchmaking.createInvite(request, this.#call);
    return present(invite, "the invite").name;
  }

  /** Accepts an invite and returns the match's name. */
  async accept(name: string): Promise<string> {
    const request = { requestId: randomUUID(), name };
    const { invite } = await this.#matchmaking.acceptInvite(request, this.#call);
    return present(invite, "the invite").match;
  }

  /** Takes his seat, plays to the end, and returns the history he has verified. */
  async play(match: string): Promise<History> {
    await this.#matches.joinMatch({ name: match, requestId: randomUUID() }, this.#call);

    const watch = { ...this.#call, timeoutMs: MATCH_TIMEOUT_MS };
    let table: Table | undefined;
    let finished = false;
    for await (const { update } of this.#matches.watchMatch({ name: match, afterTurn: 0 }, watch)) {
      switch (update.case) {
        case "snapshot":
          table = new Table(this.name, update.value);
          break;
        case "turn":
          present(table, "the snapshot").resolve(update.value);
          break;
        case "status":
          if (table?.isDue(update.value)) {
            await this.#seal(table, anyOf(table.legalCells()));
          }
          break;
        case "finished":
          present(table, "the snapshot").history.checkEnd(update.value);
          finished = true;
          break;
      }
    }
    if (!finished) {
      throw new Error("the stream ended before the match");
    }
    return present(table, "the snapshot").history;
  }

  /** The whole match, to be verified offline. */
  async transcript(match: string): Promise<Transcript> {
    const { transcript } = await this.#matches.getTranscript({ name: match }, this.#call);
    return present(transcript, "the transcript");
  }

  async #seal(table: Table, cell: number): Promise<void> {
    const move = create(OpenMoveSchema, { cell, salt: randomBytes(sealing.SALT_BYTES) });
    const commitment = table.commit(move);
    const request = {
      name: table.history.match,
      requestId: randomUUID(),
      turn: table.history.turn + 1,
      move: { case: "open", value: move } as const,
      previousHash: table.history.hash,
    };
    const { receipt } = await this.#matches.sealMove(request, this.#call);
    if (
      receipt?.match !== request.name ||
      receipt.turn !== request.turn ||
      receipt.seat !== table.seat ||
      !same(receipt.commitment, commitment)
    ) {
      throw new Error(`turn ${request.turn}: the receipt is not for what was sealed`);
    }
  }
}

/** What one player knows of a match: the verified history, the board, and what he sealed. */
class Table {
  readonly history: History;
  readonly seat: Seat;
  readonly #player: string;
  #position: Position;
  #sealed: OpenMove | undefined;

  constructor(player: string, snapshot: MatchSnapshot) {
    this.history = new History(snapshot.name, snapshot);
    this.seat = snapshot.black?.player === player ? Seat.BLACK : Seat.WHITE;
    this.#player = player;
    this.#position = present(snapshot.position, "the position");
  }

  /** Whether the player has yet to seal the open turn. */
  isDue(status: MatchStatus): boolean {
    return status.state === MatchState.OPEN && status.turn === this.history.turn + 1 && !this.#sealed;
  }

  /** The empty cells. */
  legalCells(): number[] {
    return [...this.#position.cells].flatMap((piece, index) => (piece === "." ? [index + 1] : []));
  }

  /** Remembers the move of the open turn and returns its commitment. */
  commit(move: OpenMove): Uint8Array {
    this.#sealed = move;
    return sealing.commitment({
      match: this.history.match,
      turn: this.history.turn + 1,
      seat: this.seat,
      player: this.#player,
      previousHash: this.history.hash,
      cell: move.cell,
      salt: move.salt,
    });
  }

  /** Verifies a turn and that the player's own move is in it. */
  resolve(turn: ResolvedTurn): void {
    this.history.add(turn);
    const own = this.seat === Seat.BLACK ? turn.black : turn.white;
    if (!this.#sealed || own?.cell !== this.#sealed.cell || !same(own.salt, this.#sealed.salt)) {
      throw new Error(`turn ${turn.turn}: this is not the move that was sealed`);
    }
    this.#position = present(turn.position, "the position");
    this.#sealed = undefined;
  }
}

/** Plays one match over a transport. */
async function playMatch(transport: Transport): Promise<void> {
  const ann = await Player.logIn(transport, "players/ann");
  const bob = await Player.logIn(transport, "players/bob");
  const settings = create(MatchSettingsSchema, { turnLimit: TURN_LIMIT });
  const match = await bob.accept(await ann.invite(bob.name, settings));
  console.log(`${match}: ${ann.name} against ${bob.name}`);

  const [anns, bobs] = await Promise.all([ann.play(match), bob.play(match)]);
  if (!same(anns.hash, bobs.hash)) {
    throw new Error("the two players were told different matches");
  }
  const transcript = await ann.transcript(match);
  if (!same(verifyTranscript(transcript).hash, anns.hash)) {
    throw new Error("the transcript is not the match that was played");
  }
  show(transcript);
}

/** Prints the last board, row 9 first, and how the match ended. */
function show({ turns, finish }: Transcript): void {
  const cells = present(turns.at(-1)?.position, "the position").cells;
  for (let row = 9; row >= 1; row -= 1) {
    console.log(`  ${row} ${[...cells.slice(row * 9 - 9, row * 9)].join(" ")}`);
  }
  console.log("    A B C D E F G H I");
  const { turn, result, reason, endHash } = present(finish, "the end");
  const ending = `${MatchResult[result]} by ${EndReason[reason]}`;
  const hash = Buffer.from(endHash).toString("hex");
  console.log(`${turn} turns, ${ending}; all of it verified up to ${hash}`);
}

function anyOf(cells: number[]): number {
  return present(cells[randomInt(cells.length)], "an empty cell");
}

/** A message field that the server has to set. */
function present<T>(value: T | undefined, what: string): T {
  if (value === undefined) {
    throw new Error(`the server did not send ${what}`);
  }
  return value;
}

const server = process.argv[2] ?? process.env["WTS_SERVER"] ?? DEFAULT_SERVER;
const sessionManager = new Http2SessionManager(server);
try {
  await playMatch(createGrpcTransport({ baseUrl: server, sessionManager }));
} finally {
  // An open connection would keep the process alive.
  sessionManager.abort();
}
