//! What players, spectators and back ends are promised, over real sockets: one file a promise.

#![allow(clippy::unwrap_used, reason = "a test that panics fails, which is what is wanted")]

mod service {
    mod every_rpc;
    mod marked;
    mod queue;
    mod rust_client;
    mod scripted_match;

    mod admin_keys;
    mod admin_matches;
    mod admin_nodes;
    mod bot_matches;
    mod browsers;
    mod client_feed;
    mod client_home;
    mod client_receipts;
    mod client_restarts;
    mod client_shutdown;
    mod client_tokens;
    mod client_transcripts;
    mod client_unread;
    mod client_withheld;
    mod clocks;
    mod connections;
    mod descriptors;
    mod draws;
    mod expiry;
    mod feed;
    mod feed_over_redis;
    mod home_secrecy;
    mod indistinguishable;
    mod invites;
    mod kept_invites;
    mod known_rules;
    mod late_seals;
    mod lists;
    mod lost_hints;
    mod lost_history;
    mod nobody_else;
    mod node_stats;
    mod outages;
    mod paired_once;
    mod player_watch;
    mod players;
    mod policy;
    mod ranked_invites;
    mod ratings;
    mod readiness;
    mod readiness_over_redis;
    mod ready_check;
    mod refusals;
    mod remembered_heads;
    mod repeated_draws;
    mod repeated_reveals;
    mod requests;
    mod restarts;
    mod resume;
    mod revealed_secrets;
    mod reveals;
    mod sealed_move;
    mod seats;
    mod secrecy;
    mod server_info;
    mod shutdown;
    mod signed;
    mod simultaneous;
    mod stored_secrets;
    mod straddled_deadline;
    mod tickets;
    mod turn_limit;
    #[cfg(feature = "second-version")]
    mod two_rules;
    mod whole_match;

    mod cancelled;
    mod client_pings;
    mod dead_network;
    mod deadlines;
    mod hostile;
    mod hostile_fields;
    mod lost_answer;
    mod newer;
    mod newer_clients;
    mod newer_servers;
    mod over_redis;
    mod panics;
    mod pings;
    mod slow_reader;
    mod stream_limit;
    mod told;
    mod two_devices;
    mod workers;
}
