//! `GetServerInfo`, and what development mode opens.

use service_tests::{Cluster, Credential, START_MS, Setup, seconds};
use wire::ApiError;
use wire::v1::{self, ErrorReason};

#[tokio::test]
async fn everyone_is_told_what_the_server_is() {
    let cluster = Cluster::of_one().await;
    for credential in [Credential::none(), Credential::token("expired or worse")] {
        let caller = cluster.caller(0, "", credential).await;
        let info = caller.players().get_server_info(v1::GetServerInfoRequest {}).await.unwrap().into_inner();
        assert!(info.server_version.split('.').all(|part| part.parse::<u32>().is_ok()));
        assert_eq!(info.rules_versions, ["wts-2026.1"]);
        assert_eq!(info.server_time.unwrap().seconds, (START_MS / 1_000) as i64);
        assert!(!info.dev_mode);
        let limits = info.limits.unwrap();
        assert_eq!((limits.page_size_max, limits.turn_limit_max), (100, 500));
        assert_eq!(limits.turn_time_min, Some(seconds(1)));
        assert_eq!(limits.turn_time_max, Some(seconds(14 * 24 * 60 * 60)));
        assert_eq!(limits.heartbeat_interval, Some(seconds(10)));
        assert_eq!(limits.match_retention, Some(seconds(7 * 24 * 60 * 60)));
    }
}

#[tokio::test]
async fn only_development_mode_lets_everyone_mint() {
    for dev in [true, false] {
        let cluster = Cluster::start(Setup { dev, ..Setup::default() }).await;
        let stranger = cluster.stranger(0).await;
        let request = v1::MintPlayerTokenRequest { player: "players/ada".to_owned(), ..Default::default() };
        let minted = stranger.players().mint_player_token(request).await;
        let info = stranger.players().get_server_info(v1::GetServerInfoRequest {}).await.unwrap();
        assert_eq!(info.into_inner().dev_mode, dev, "a server in development mode says so");
        if !dev {
            let refused = ApiError::from_status(&minted.unwrap_err()).unwrap();
            assert_eq!(refused.reason(), ErrorReason::TokenMissing);
            continue;
        }
        let token = minted.unwrap().into_inner().token;
        let ada = cluster.caller(0, "players/ada", Credential::token(&token)).await;
        let listed = ada.matches().list_matches(v1::ListMatchesRequest::default()).await;
        assert!(listed.is_ok(), "the token is good");
        let other = v1::ListMatchesRequest { player: "players/bo".to_owned(), ..Default::default() };
        assert!(ada.matches().list_matches(other).await.is_err(), "for ada alone");
    }
}
