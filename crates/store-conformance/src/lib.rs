//! The one suite that every store must pass.
//!
//! A back end writes a [`Harness`] and one line; each promise becomes a named test of its own:
//!
//! ```ignore
//! async fn harness() -> impl Harness { ... }
//! store_conformance::suite!(harness);
//! ```
//!
//! A back end whose clock cannot be scripted writes `suite!(harness, unscripted)`: the promises about
//! time are then listed as ignored. [`run_all`] tries the promises one after the other, for a back end
//! outside of a test binary.
//!
//! Matches come about through the referee alone: every stored head is one that real commands lead to.
//! Promises are tried through two nodes over the same data, and those about races on real threads.

mod access;
mod claims;
mod commits;
mod creation;
mod due;
mod feed;
mod follow_ups;
mod hints;
mod invites;
mod leaderboards;
mod nodes;
mod outage;
mod players;
mod pools;
mod queue;
mod records;
mod requests;
mod reservations;
mod retention;
mod stamps;
mod tickets;
mod world;

/// The promises, each an async function of a world of its own.
pub mod promises {
    pub use crate::access::*;
    pub use crate::claims::*;
    pub use crate::commits::*;
    pub use crate::creation::*;
    pub use crate::due::*;
    pub use crate::feed::*;
    pub use crate::follow_ups::*;
    pub use crate::hints::*;
    pub use crate::invites::*;
    pub use crate::leaderboards::*;
    pub use crate::nodes::*;
    pub use crate::outage::*;
    pub use crate::players::*;
    pub use crate::pools::*;
    pub use crate::records::*;
    pub use crate::requests::*;
    pub use crate::reservations::*;
    pub use crate::retention::*;
    pub use crate::stamps::*;
    pub use crate::tickets::*;
}

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use store::Store;
pub use world::World;

/// How long one promise may take, s: a hint that never comes fails its test instead of hanging it.
const PROMISE_MAX_S: u64 = 60;

/// A back end, empty, for one promise.
#[async_trait]
pub trait Harness: Send + Sync + 'static {
    /// The store as one more node sees it. All nodes of a harness share their data; where a store lives
    /// in one process, they are one and the same.
    async fn node(&self) -> Arc<dyn Store>;

    /// Moves the store's clock on. Between two calls it stands still. Not called where the clock cannot
    /// be scripted.
    async fn advance_ms(&self, ms: u64);

    /// Whether the store's clock can be scripted.
    fn scripts_time(&self) -> bool {
        true
    }
}

/// Tries every promise, each on a back end that `make` makes for it. Returns the names of those that
/// need a scripted clock and were not tried because there is none.
///
/// # Panics
/// If a promise is broken.
pub async fn run_all<H: Harness>(make: impl AsyncFn() -> H) -> Vec<&'static str> {
    let mut untried = Vec::new();
    crate::suite! { @list run (make untried) }
    untried
}

/// Tries one promise on a runtime of several threads.
///
/// # Panics
/// If the promise is broken, or takes longer than a minute.
pub fn keep<H: Harness>(make: impl AsyncFnOnce() -> H, promise: impl AsyncFnOnce(Arc<World>)) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a test can start threads");
    runtime.block_on(async { keep_here(make().await, promise).await });
}

async fn keep_here<H: Harness>(harness: H, promise: impl AsyncFnOnce(Arc<World>)) {
    let world = Arc::new(World::new(harness).await);
    let promise = tokio::time::timeout(Duration::from_secs(PROMISE_MAX_S), promise(world));
    promise.await.expect("a promise is kept within a minute");
}

/// One test for each promise, on the back end that the async function makes.
#[macro_export]
macro_rules! suite {
    ($make:path) => {
        $crate::suite! { @list tests_scripted ($make) }
    };
    ($make:path, unscripted) => {
        $crate::suite! { @list tests_unscripted ($make) }
    };

    (@list $then:ident ($($with:tt)*)) => {
        $crate::suite! { @$then ($($with)*)
            [
                creating_a_match_stores_it_at_version_1,
                creating_again_changes_nothing_and_answers_what_is_stored,
                of_many_who_create_a_match_at_once_all_get_the_same,
                a_match_that_was_never_created_is_not_found,
                the_time_can_be_asked_before_a_match_exists,

                a_commit_on_the_current_version_is_stored,
                a_commit_on_a_stale_version_conflicts_and_changes_nothing,
                the_same_counter_with_other_random_bytes_conflicts,
                a_commit_sent_again_conflicts_with_itself,
                a_loser_wins_with_the_head_that_the_conflict_gave_him,
                of_many_commits_on_one_version_exactly_one_wins,
                turns_are_appended_once_and_in_order,
                turns_are_read_from_any_turn_on_up_to_a_limit,
                a_commit_touches_no_other_match,

                a_match_whose_follow_ups_wait_is_due_at_once,
                a_match_is_due_in_its_own_shard_only,
                due_matches_come_up_to_a_limit,
                a_finished_and_settled_match_is_never_due_again,

                follow_ups_wait_until_they_are_settled,
                settling_takes_off_only_what_is_done,
                settling_at_another_version_does_nothing,
                settling_makes_no_new_version,
                new_follow_ups_are_added_to_those_that_wait,

                whoever_subscribes_and_then_reads_misses_nothing,
                hints_that_come_as_one_end_with_the_last_version,
                every_watcher_is_told,
                a_wait_that_is_given_up_loses_nothing,
                hints_are_of_the_watched_match_only,
                a_hint_carries_the_trace_of_its_commit,
                a_watcher_follows_a_match_that_is_played_beside_him,

                creating_an_invite_again_changes_nothing,
                an_invite_that_was_never_created_is_not_found,
                the_first_closing_of_an_invite_stands,
                of_many_closings_at_once_exactly_one_stands,
                open_invites_are_listed_for_both_players_until_they_are_closed,

                the_first_record_of_a_request_stands,
                requests_are_told_apart_by_actor_and_id,
                of_many_records_of_a_request_at_once_exactly_one_stands,

                a_players_matches_are_listed_newest_first,
                pages_of_a_list_show_every_match_once,
                a_list_shows_only_what_is_asked_for,
                a_finished_match_never_becomes_a_live_one_again,
                the_order_of_indexing_does_not_matter,
                lists_of_different_players_are_apart,
                a_list_that_was_forgotten_is_empty_and_begins_anew,

                an_entry_is_in_the_feed_exactly_when_its_commit_is_stored,
                the_feed_tells_a_match_from_its_start_to_its_end,
                a_feed_is_read_on_from_any_place,
                every_node_reads_the_same_feed,
                a_reader_misses_nothing_while_matches_are_played,
                whoever_watches_the_feed_is_told_where_it_goes_on,
                a_reader_whose_place_was_lost_is_sent_back,

                a_new_ticket_waits_with_all_that_its_player_asks_for,
                creating_a_ticket_again_changes_nothing_and_answers_what_is_stored,
                of_many_who_create_a_ticket_at_once_all_get_the_same,
                a_ticket_that_was_never_created_is_not_found,
                a_ticket_that_was_left_never_waits_again,
                a_ticket_that_is_left_before_it_comes_is_cancelled_when_it_comes,
                of_a_leave_and_a_creation_at_once_nothing_waits,
                a_creation_that_comes_too_late_is_refused,

                a_claim_matches_all_its_tickets_and_owes_the_match,
                claiming_again_for_the_same_match_changes_nothing,
                a_claim_that_fails_names_what_is_gone_and_changes_nothing,
                of_two_claims_that_share_a_ticket_exactly_one_wins,
                of_many_claims_at_once_each_ticket_is_in_one_match,
                of_a_leave_and_a_claim_at_once_there_is_one_outcome,
                a_match_is_owed_until_it_is_made,
                a_ticket_whose_match_was_aborted_waits_again_once,
                whoever_left_his_ticket_is_not_queued_again,

                a_page_shows_each_ticket_once_in_the_order_of_the_last_changes,
                what_changes_nothing_is_no_change,
                pages_of_a_pool_show_every_ticket_once,
                a_reader_of_a_pool_misses_nothing_while_players_come_and_go,
                a_reader_who_is_ahead_of_a_pool_is_told_to_begin_again,
                a_pool_that_nobody_has_waited_in_is_empty,
                pools_are_apart,

                a_player_is_held_by_what_was_put_in_the_place_of_the_expected,
                reserving_again_is_answered_as_the_first_time,
                of_many_who_reserve_a_player_at_once_exactly_one_wins,
                whoever_watches_a_player_is_told_what_holds_him,
                reservations_of_different_players_are_apart,

                a_player_who_has_achieved_nothing_has_an_empty_record,
                a_record_is_read_as_it_was_put,
                a_record_is_put_in_the_place_of_the_version_it_was_read_at_only,
                of_many_who_count_at_once_nobody_is_lost,
                a_record_that_was_removed_begins_anew,

                a_leaderboard_shows_the_best_first,
                a_player_stands_by_the_rating_after_the_most_matches,
                pages_of_a_leaderboard_show_every_line_once,
                a_players_place_is_where_his_line_is,
                leaderboards_of_different_speeds_are_apart,
                of_many_words_of_a_rating_at_once_the_last_one_stands,

                matches_that_wait_are_counted,
                whoever_is_taken_off_a_leaderboard_is_not_on_it,

                nothing_is_kept_of_a_player_whom_nobody_restricts,
                access_is_put_in_the_place_of_the_expected_only,
                of_many_who_change_access_at_once_nobody_is_lost,
                a_page_of_access_shows_each_player_once_in_the_order_of_the_last_changes,
                pages_of_access_show_every_player_once,
                a_reader_of_access_misses_nothing_while_it_changes,
                a_reader_who_is_ahead_of_the_access_list_is_told_to_begin_again,
            ]
            [
                a_stamp_before_the_heads_is_refused,
                a_stamp_ahead_of_the_stores_clock_is_refused,
                a_stamp_older_than_a_second_is_refused,
                a_stamp_under_another_outage_sum_is_refused,
                a_change_judged_again_at_the_time_of_the_refusal_is_stored,
                a_change_is_stored_until_its_last_moment_and_never_after,
                a_change_that_came_too_late_finds_the_deadline_passed,
                a_conflict_comes_before_a_restamp_and_that_before_too_late,

                a_match_is_due_once_its_deadline_has_passed_and_not_before,
                due_matches_come_earliest_first,
                an_entry_moves_with_every_commit,
                a_postponed_match_is_due_later_at_its_version_only,
                a_match_that_only_time_moves_comes_to_its_end_by_what_is_due,

                a_gap_of_3_s_is_no_outage_and_a_longer_one_is_added_whole,
                every_operation_on_a_match_shows_that_somebody_is_there,
                asking_what_is_due_every_second_keeps_the_outage_sum_at_zero,
                touching_a_shard_keeps_its_outage_sum_at_zero,
                outages_add_up_and_every_node_sees_the_same_sum,
                each_shard_has_an_outage_sum_of_its_own,
                the_deadlines_of_a_live_match_move_by_an_outage,
                a_match_judged_before_an_outage_is_judged_again_after_it,
                a_match_whose_deadline_an_outage_moved_is_postponed_and_still_ends,

                an_invite_that_is_created_again_is_listed_as_it_is_stored,
                an_invite_can_be_closed_until_it_expires_and_never_after,
                an_invite_can_be_read_a_day_after_its_end,
                an_accepted_invite_is_forgotten_before_its_match,
                a_request_is_remembered_for_a_day,
                a_finished_match_can_be_read_for_its_retention,
                a_live_match_is_never_forgotten,
                a_feed_is_kept_for_its_retention_and_whoever_comes_later_is_told,
                whoever_has_begun_is_told_what_was_trimmed_before_he_read_it,

                a_ticket_can_be_created_until_its_last_moment_and_never_after,
                a_ticket_waits_to_the_last_moment_of_its_lease_and_never_after,
                a_renewed_ticket_waits_on,
                whoever_reads_the_pool_is_told_of_lapsed_leases,
                a_ticket_that_has_ended_is_kept_for_its_retention_and_never_comes_back,

                a_ticket_is_claimed_within_its_lease_only,
                a_match_that_is_owed_for_long_is_told_to_whoever_reads_the_pool,
                what_is_owed_comes_up_to_a_limit,
                a_ticket_that_waits_again_has_a_new_lease,
                a_pool_tells_how_long_was_waited_lately,

                a_reservation_tells_for_how_long_it_has_been_there,
                whoever_enters_is_remembered_and_held_unless_he_is,

                a_record_is_never_forgotten,

                nodes_are_told_of_with_what_they_told_last,
                a_node_that_falls_silent_is_told_of_as_dead_for_a_while,
                a_node_that_parts_is_told_of_no_more,
                of_many_dead_nodes_the_latest_are_told_of,
                a_node_that_is_asked_to_drain_learns_it_and_no_other_does,
                a_ban_for_good_is_never_forgotten_and_all_else_after_its_retention,
            ]
        }
    };

    (@tests_scripted ($make:path) [$($promise:ident,)*] [$($timed:ident,)*]) => {
        $(
            #[test]
            fn $promise() {
                $crate::keep($make, $crate::promises::$promise);
            }
        )*
        $(
            #[test]
            fn $timed() {
                $crate::keep($make, $crate::promises::$timed);
            }
        )*
    };
    (@tests_unscripted ($make:path) [$($promise:ident,)*] [$($timed:ident,)*]) => {
        $(
            #[test]
            fn $promise() {
                $crate::keep($make, $crate::promises::$promise);
            }
        )*
        $(
            #[test]
            #[ignore = "the clock of this back end cannot be scripted"]
            fn $timed() {
                $crate::keep($make, $crate::promises::$timed);
            }
        )*
    };
    (@run ($make:ident $untried:ident) [$($promise:ident,)*] [$($timed:ident,)*]) => {
        $( $crate::keep_here($make().await, $crate::promises::$promise).await; )*
        $(
            let harness = $make().await;
            if harness.scripts_time() {
                $crate::keep_here(harness, $crate::promises::$timed).await;
            } else {
                $untried.push(stringify!($timed));
            }
        )*
    };
}
