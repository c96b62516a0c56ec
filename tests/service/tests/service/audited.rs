//! What back ends and operators did is written down: who, what, for whom, on what, and what came of it.

use rules::Seat;
use service_tests::{Caller, Cluster, Log, cell, soon};
use wire::v1;

use super::queue::{create, wish};

/// The lines of the audit log, without their moment: those of a level, from their fields on.
fn audited(log: &Log, level: &str) -> Vec<String> {
    let text = String::from_utf8(log.text()).expect("text");
    let lines = text.lines().filter(|line| line.contains(level));
    lines.filter_map(|line| Some(line.split_once(" audit: ")?.1.to_owned())).collect()
}

async fn mint(caller: &Caller, player: &str) -> Result<(), tonic::Status> {
    let request = v1::MintPlayerTokenRequest { player: player.to_owned(), ..Default::default() };
    soon("MintPlayerToken", caller.players().mint_player_token(request)).await.map(drop)
}

#[tokio::test]
async fn what_a_back_end_does_is_written_down_and_what_it_reads_is_not() {
    let cluster = Cluster::of_one().await;
    let duel = cluster.duel(v1::MatchSettings::default()).await;
    let (backend, ann) = (cluster.backend(0).await, cluster.player(0, "ann").await);
    let log = Log::capture();
    mint(&backend, "players/ann").await.unwrap();
    mint(&backend, "players/no such name").await.unwrap_err();
    let ticket =
        create(&backend, v1::CreateTicketRequest { player: ann.name.clone(), ..wish("casual", "one") });
    let ticket = ticket.await.unwrap().name;
    backend.get(&duel.name).await.unwrap();
    let resign = v1::ResignRequest {
        name: duel.name.clone(),
        player: duel.black.name.clone(),
        request_id: "gone".to_owned(),
    };
    soon("Resign", backend.matches().resign(resign)).await.unwrap();
    let own =
        v1::CancelTicketRequest { name: ticket.clone(), request_id: "own".to_owned(), ..Default::default() };
    soon("CancelTicket", ann.matchmaking().cancel_ticket(own)).await.unwrap();

    let by = r#"principal="backend" holder="lobby""#;
    assert_eq!(
        audited(&log, "INFO"),
        [
            format!(r#"{by} rpc="MintPlayerToken" player="" object="players/ann" code=Ok"#),
            format!(r#"{by} rpc="MintPlayerToken" player="" object="" code=InvalidArgument"#),
        ]
    );
    let (game, black) = (&duel.name, &duel.black.name);
    assert_eq!(
        audited(&log, "DEBUG"),
        [
            format!(r#"{by} rpc="CreateTicket" player="players/ann" object="{ticket}" code=Ok"#),
            format!(r#"{by} rpc="Resign" player="{black}" object="{game}" code=Ok"#),
        ],
        "the player's own calls are his"
    );
}

#[tokio::test]
async fn a_move_that_a_back_end_makes_is_not_told_before_it_resolves() {
    let cluster = Cluster::of_one().await;
    let duel = cluster.duel(v1::MatchSettings::default()).await;
    let backend = cluster.backend(0).await;
    let log = Log::capture();
    let seal = v1::SealMoveRequest {
        player: duel.black.name.clone(),
        ..duel.seal_request(Seat::Black, 1, cell("A1"))
    };
    soon("SealMove", backend.matches().seal_move(seal)).await.unwrap();
    for level in ["INFO", "DEBUG"] {
        assert_eq!(audited(&log, level), Vec::<String>::new());
    }
}
