//! The scenarios: what goes wrong, over which servers, and what must hold all the same.

use std::time::Duration;

use clap::ValueEnum;
use redis_servers::Flavor;

use crate::arena::Manner;
use crate::audit::Time;
use crate::backing::Store;

/// From a node's death until a client that reconnects has its next seal acknowledged.
const NODE_RECOVERY_MAX: Duration = Duration::from_secs(3);

/// The same from a primary's death.
const PRIMARY_RECOVERY_MAX: Duration = Duration::from_secs(10);

/// Seals that a long run has acknowledged at least.
const ACKNOWLEDGED_MIN: usize = 5_000;

/// Turns in which both seal at the same instant, in a long run and in a short one.
const AT_ONCE: usize = 10_000;
const AT_ONCE_SHORT: usize = 200;

/// How much a run has to have seen before it may end.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Goal {
    /// Seals that were acknowledged.
    pub acknowledged: usize,
    /// Turns in which both asked to seal at the same instant.
    pub at_once: usize,
}

impl Goal {
    /// Whether it is as much as another.
    pub(crate) const fn covers(self, goal: Self) -> bool {
        self.acknowledged >= goal.acknowledged && self.at_once >= goal.at_once
    }
}

/// Heartbeats that do not come, after which a stream is dead.
const SILENT_HEARTBEATS: u32 = 3;

/// What goes wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum Scenario {
    /// Nodes are killed.
    NodeKill,
    /// Nodes are told to end and started again, one after the other: no call fails, and no stream has a gap.
    RollingRestart,
    /// Primaries are killed, and acknowledged writes with them: every loss must be owned up to.
    PrimaryKill,
    /// Primaries are killed, and a replica has every acknowledged write.
    PrimaryKillReplicas,
    /// Redis stands still while turns close: nobody flags by that.
    RedisStopped,
    /// Redis closes all connections at the last event of each match, and nothing follows.
    ClientKillAll,
    /// Redis forgets all scripts.
    ScriptFlush,
    /// The role of the primary moves, and the old one lives.
    FailoverOldPrimaryAlive,
    /// A primary stands still, is replaced, and goes on with what was sent to it: two nodes commit the same
    /// counter.
    Aba,
    /// The same where one replica of two is enough for a write to count: the old primary may find that one still
    /// following it, so every loss must be owned up to.
    AbaOneOfTwo,
    /// Replicas stand still: what they do not have must not be told to anybody.
    PublishBeforeDurable,
    /// Slots move between primaries.
    SlotMigration,
    /// The nodes' clocks differ by a minute.
    SkewedClocks,
    /// Connections between clients and nodes and between nodes and Redis are slow, break and fall silent.
    BadNetwork,
    /// Both players seal at the same instant through different nodes.
    Simultaneous,
    /// Nodes are killed while matches end, between a commit and what follows from it.
    KilledBeforeFollowUp,
    /// Nodes are killed while players queue, cancel, die, join and stay away.
    Matchmaking,
}

impl Scenario {
    /// All of them.
    #[must_use]
    pub fn all() -> &'static [Self] {
        Self::value_variants()
    }

    /// Those of a short run, in which each takes some seconds.
    #[must_use]
    pub const fn short() -> &'static [Self] {
        &[
            Self::NodeKill,
            Self::PrimaryKillReplicas,
            Self::RedisStopped,
            Self::ClientKillAll,
            Self::Simultaneous,
            Self::Matchmaking,
        ]
    }

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::NodeKill => "node_kill",
            Self::RollingRestart => "rolling_restart",
            Self::PrimaryKill => "primary_kill",
            Self::PrimaryKillReplicas => "primary_kill_replicas",
            Self::RedisStopped => "redis_stopped",
            Self::ClientKillAll => "client_kill_all",
            Self::ScriptFlush => "script_flush",
            Self::FailoverOldPrimaryAlive => "failover_old_primary_alive",
            Self::Aba => "aba",
            Self::AbaOneOfTwo => "aba_one_of_two",
            Self::PublishBeforeDurable => "publish_before_durable",
            Self::SlotMigration => "slot_migration",
            Self::SkewedClocks => "skewed_clocks",
            Self::BadNetwork => "bad_network",
            Self::Simultaneous => "simultaneous",
            Self::KilledBeforeFollowUp => "killed_before_follow_up",
            Self::Matchmaking => "matchmaking",
        }
    }

    /// Whose servers it has with this seed, where nobody says: scenarios and seeds take turns.
    #[must_use]
    pub const fn flavor(self, seed: u64) -> Flavor {
        if (self as u64 + seed) % 2 == 1 { Flavor::Redis } else { Flavor::Valkey }
    }

    /// What a long run has to come to.
    #[must_use]
    pub const fn goal(self) -> Goal {
        match self {
            Self::Simultaneous => Goal { acknowledged: ACKNOWLEDGED_MIN, at_once: AT_ONCE },
            // Nobody moves there.
            Self::Matchmaking => Goal { acknowledged: 0, at_once: 0 },
            _ => Goal { acknowledged: ACKNOWLEDGED_MIN, at_once: 0 },
        }
    }

    /// What a short run has to come to.
    #[must_use]
    pub const fn short_goal(self) -> Goal {
        match self {
            Self::Simultaneous => Goal { acknowledged: 0, at_once: AT_ONCE_SHORT },
            _ => Goal { acknowledged: 0, at_once: 0 },
        }
    }

    pub(crate) const fn store(self) -> Store {
        match self {
            Self::PrimaryKill => Store::Sentinel,
            // An old primary that lives may have replicas that follow it still, and replicas do not stand still at
            // the same write: what was acknowledged is safe only where it takes all of them.
            Self::Aba | Self::PublishBeforeDurable => Store::SentinelReplicas(2),
            Self::FailoverOldPrimaryAlive => Store::ClusterReplica,
            Self::PrimaryKillReplicas | Self::AbaOneOfTwo => Store::SentinelReplicas(1),
            Self::SlotMigration => Store::Cluster,
            Self::BadNetwork => Store::FarAway,
            _ => Store::Single,
        }
    }

    /// Whether nothing acknowledged may be gone.
    pub(crate) fn is_lossless(self) -> bool {
        !matches!(self, Self::PrimaryKill | Self::AbaOneOfTwo)
    }

    /// Whether every call of a client is answered, with no more than the retries that it makes by itself.
    pub(crate) const fn answers_all(self) -> bool {
        matches!(self, Self::RollingRestart)
    }

    /// How often a stream with no news says that it lives, in whole seconds. A node looks at the match then, too,
    /// which makes good for a hint that is lost: where hints are what is tried, that must come too late.
    pub(crate) const fn heartbeat(self) -> Duration {
        match self {
            Self::ClientKillAll => Duration::from_secs(10),
            // The least there is: clients find a dead stream after twice that.
            _ => Duration::from_secs(1),
        }
    }

    pub(crate) fn is_skewed(self) -> bool {
        self == Self::SkewedClocks
    }

    /// Whether the store may be away for so long that deadlines move.
    pub(crate) const fn time(self) -> Time {
        match self {
            Self::PrimaryKillReplicas
            | Self::PrimaryKill
            | Self::RedisStopped
            | Self::FailoverOldPrimaryAlive
            | Self::Aba
            | Self::AbaOneOfTwo
            | Self::BadNetwork
            | Self::PublishBeforeDurable => Time::Moved,
            _ => Time::Calm,
        }
    }

    pub(crate) const fn recovery_allowed(self) -> Option<Duration> {
        match self {
            Self::NodeKill | Self::RollingRestart => Some(NODE_RECOVERY_MAX),
            Self::PrimaryKillReplicas | Self::PrimaryKill | Self::FailoverOldPrimaryAlive => {
                Some(PRIMARY_RECOVERY_MAX)
            }
            _ => None,
        }
    }

    pub(crate) fn manner(self, is_short: bool) -> Manner {
        // Nobody who plays on may lose by the clock; streams are resumed within some seconds.
        let manner = Manner {
            turn_time: Duration::from_secs(60),
            turn_limit: 500,
            late_max: Duration::from_secs(15),
            silence_max: self.heartbeat() * SILENT_HEARTBEATS,
            is_in_step: false,
        };
        match self {
            Self::RedisStopped => {
                Manner { turn_time: Duration::from_secs(if is_short { 4 } else { 10 }), ..manner }
            }
            Self::ClientKillAll => Manner { late_max: Duration::from_secs(5), ..manner },
            Self::Simultaneous => Manner { is_in_step: true, ..manner },
            Self::KilledBeforeFollowUp => Manner { turn_limit: 3, ..manner },
            _ => manner,
        }
    }
}
