//! Matches that nobody plays, calls for or watches: time alone ends them.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;
use whattheshell::v1::match_settings::TimeControl;
use whattheshell::{Error, v1};

use crate::account::Terms;
use crate::arena::{Arena, Phase};
use crate::lane::{Table, span};
use crate::secrets::Who;

/// The pause between two such matches.
const BEGIN_EVERY: Duration = Duration::from_millis(700);

/// Begins such matches until it is time to finish.
pub(crate) async fn begin_and_leave(arena: Arc<Arena>, who: Who, turn_time: Duration) -> Result<(), Error> {
    let (black, token) = arena.player(0, who, "gone-black").await?;
    let (white, guest_token) = arena.player(1, who + 1, "gone-white").await?;
    let players = [black, white];
    let settings = v1::MatchSettings {
        time_control: Some(TimeControl::TurnTime(span(turn_time))),
        ..v1::MatchSettings::default()
    };
    let terms = Terms { token, is_hidden: false, is_commit_reveal: false, turn_time, is_abandoned: true };
    while arena.phase() != Phase::Finish {
        if arena.phase() == Phase::Play {
            // Where it fails there is nothing to look after.
            let table = Table { arena: &arena, players: &players, guest: who + 1, guest_token: &guest_token };
            drop(table.agree(settings.clone(), terms.clone()).await);
        }
        sleep(BEGIN_EVERY).await;
    }
    Ok(())
}
