//! Taking over what another store holds of its players.

use redis_servers::Flavor;
use referee::Stamp;
use store::{
    Access, AccessStore as _, Ban, Met, PlayerRecord, RecordStore as _, Reservation, ReservationStore as _,
    Speed, Standing, StoreError,
};

use crate::{game, place};

const ANN: &str = "players/ann";

/// An import that broke off is begun again from its beginning, maybe with what has been played since.
#[tokio::test(flavor = "multi_thread")]
async fn a_player_is_taken_over_with_record_rank_and_what_holds_him_also_again() {
    for flavor in Flavor::ALL {
        let store = place::node(&place::fresh(&place::single(flavor).await.url())).await;
        for round in 1..=2_u64 {
            let import = store.import().await.expect("nobody has served it");
            let standing = Standing {
                mode: referee::Mode::Casual,
                speed: Speed(1),
                rating: None,
                wins: round,
                losses: 0,
                draws: 0,
                updated: Stamp::from_ms(1_000),
            };
            let met = Met { player: "players/bob".to_owned(), black_surplus: -1 };
            let record =
                PlayerRecord { standings: vec![standing], counted: vec![game::id()], recent: vec![met] };
            let by = Reservation::Match(game::id());
            import.take_record(ANN, &record).await.expect("a record is taken over");
            import.take_rank(Speed(1), ANN, 1_500_000_000 - round, round).await.expect("a rank is");
            import.take_reservation(ANN, &by).await.expect("a reservation is");
            let ban = Ban { from: Stamp::from_ms(1_000), until: None, reason: format!("case {round}") };
            let access = Access { ban: Some(ban), changed: Stamp::from_ms(1_000), ..Access::default() };
            import.take_access(ANN, &access).await.expect("a ban is");
            assert_eq!(store.access(ANN).await, Ok(Some(access)));
            assert_eq!(store.record(ANN).await.expect("it can be read").0, record);
            let lines = store.leaderboard(Speed(1), 0, 10).await.expect("a board can be read");
            assert_eq!(
                lines.iter().map(|line| line.points_micro).collect::<Vec<_>>(),
                [1_500_000_000 - round]
            );
            assert_eq!(store.reservation(ANN).await.expect("it can be read").map(|held| held.by), Some(by));
        }
    }
}

/// As one is that a newer word has come before.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_stored_otherwise_than_it_was_given_breaks_an_import_off() {
    let store = place::node(&place::fresh(&place::single(Flavor::Redis).await.url())).await;
    store.rank(Speed(1), ANN, 1_600_000_000, 5).await.expect("a player can be ranked");
    let import = store.import().await.expect("nobody has served it");
    let taken = import.take_rank(Speed(1), ANN, 1_500_000_000, 4).await;
    assert!(matches!(taken, Err(StoreError::Unavailable(_))), "{taken:?}");
}
