/** What the Shell, from TypeScript: the API's messages and services, and the hashes that prove a match. */

export * from "./gen/whattheshell/v1/error_reason_pb.js";
export * from "./gen/whattheshell/v1/feed_service_pb.js";
export * from "./gen/whattheshell/v1/game_pb.js";
export * from "./gen/whattheshell/v1/match_service_pb.js";
export * from "./gen/whattheshell/v1/matchmaking_service_pb.js";
export * from "./gen/whattheshell/v1/player_service_pb.js";
export * as sealing from "./sealing.js";
export * from "./verify.js";
