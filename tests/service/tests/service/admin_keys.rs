//! Keys that operators rotate on a running node: in its file, at once and as a whole; in use after a restart.

use std::path::PathBuf;

use referee::Stamp;
use service_tests::{Caller, Cluster, Log, START_MS, Setup, reason, soon};
use store::keys::{KeyState as State, Keys, Role};
use tempfile::TempDir;
use tonic::Status;
use wire::admin::v1::{
    Key, KeyRole, KeyState, ListKeysRequest, ListKeysResponse, PrepareKeyRequest, PromoteKeyRequest,
    RetireKeyRequest,
};
use wire::v1::ErrorReason;

struct Scene {
    cluster: Cluster,
    operator: Caller,
    file: PathBuf,
    _directory: TempDir,
}

impl Scene {
    async fn set() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("keys");
        Keys::load_or_create(&file, Stamp::from_ms(START_MS)).unwrap();
        let cluster = Cluster::start(Setup { key_file: Some(file.clone()), ..Setup::default() }).await;
        let operator = cluster.admin(0).await;
        Self { cluster, operator, file, _directory: directory }
    }

    async fn list(&self) -> ListKeysResponse {
        let listed = soon("ListKeys", self.operator.admin().list_keys(ListKeysRequest {})).await;
        listed.unwrap().into_inner()
    }

    async fn prepare(&self, role: KeyRole, request_id: &str) -> Result<Key, Status> {
        let request = PrepareKeyRequest { role: role.into(), request_id: request_id.to_owned() };
        let prepared = soon("PrepareKey", self.operator.admin().prepare_key(request)).await?;
        Ok(prepared.into_inner().key.unwrap())
    }

    async fn promote(&self, role: KeyRole, id: &str) -> Result<Key, Status> {
        let request =
            PromoteKeyRequest { role: role.into(), id: id.to_owned(), request_id: format!("promote-{id}") };
        let promoted = soon("PromoteKey", self.operator.admin().promote_key(request)).await?;
        Ok(promoted.into_inner().key.unwrap())
    }

    async fn retire(&self, id: &str, accept_loss: bool, request_id: &str) -> Result<Option<Key>, Status> {
        let request = RetireKeyRequest {
            role: KeyRole::Signing.into(),
            id: id.to_owned(),
            accept_loss,
            request_id: request_id.to_owned(),
        };
        let retired = soon("RetireKey", self.operator.admin().retire_key(request)).await?;
        Ok(retired.into_inner().key)
    }

    /// The keys of a role in the file, with their states.
    fn in_file(&self, role: Role) -> Vec<(String, State)> {
        let keys = Keys::load(&self.file).unwrap().facts();
        let of_role = keys.into_iter().filter(|facts| facts.role == role);
        of_role.map(|facts| (facts.id.to_string(), facts.state())).collect()
    }
}

#[tokio::test]
async fn a_key_is_prepared_promoted_and_retired_and_the_node_says_what_it_runs_with() {
    let scene = Scene::set().await;
    let first = scene.list().await;
    assert_eq!((first.keys.len(), first.restart_required), (4, false));
    assert!(first.keys.iter().all(|key| key.running_state() == KeyState::InUse));
    let old = first.keys.iter().find(|key| key.role() == KeyRole::Signing).unwrap();
    assert_eq!(old.public_key.len(), 32);

    let next = scene.prepare(KeyRole::Signing, "prepare").await.unwrap();
    assert_eq!((next.state(), next.running_state()), (KeyState::Prepared, KeyState::Unspecified));
    assert_eq!(scene.prepare(KeyRole::Signing, "prepare").await.unwrap(), next, "it is made once");
    assert!(scene.list().await.restart_required);

    let promoted = scene.promote(KeyRole::Signing, &next.id).await.unwrap();
    assert_eq!(promoted.state(), KeyState::InUse);
    assert_eq!(scene.promote(KeyRole::Signing, &next.id).await.unwrap(), promoted);
    let expected = [(next.id.clone(), State::InUse), (old.id.clone(), State::Ended)];
    assert_eq!(scene.in_file(Role::Signing), expected);
    let shown = scene.list().await.keys;
    let shown = shown.iter().find(|key| key.id == old.id).unwrap();
    assert_eq!((shown.state(), shown.running_state()), (KeyState::Ended, KeyState::InUse));

    let kept = scene.retire(&old.id, false, "careful").await.unwrap_err();
    assert_eq!(reason(&kept), ErrorReason::FieldRequired);
    let gone = scene.retire(&old.id, true, "retire").await.unwrap().unwrap();
    assert_eq!(gone.public_key, old.public_key, "it is the operator's to keep");
    assert_eq!(scene.retire(&old.id, true, "retire").await.unwrap(), None);
    // Whoever asks anew is told that it is not there, however often he does.
    for _ in 0..2 {
        let unknown = scene.retire(&old.id, true, "again").await.unwrap_err();
        assert_eq!(reason(&unknown), ErrorReason::FieldInvalid);
    }
    assert_eq!(scene.in_file(Role::Signing), [(next.id.clone(), State::InUse)]);
    let in_use = scene.retire(&next.id, true, "too early").await.unwrap_err();
    assert_eq!(reason(&in_use), ErrorReason::FieldInvalid);
    drop(scene.cluster);
}

#[tokio::test]
async fn what_cannot_be_done_to_a_key_is_refused_and_changes_nothing() {
    let scene = Scene::set().await;
    let before = std::fs::read(&scene.file).unwrap();
    let request = scene.prepare(KeyRole::Request, "request").await.unwrap_err();
    assert_eq!(reason(&request), ErrorReason::FieldInvalid);
    let nothing = scene.prepare(KeyRole::Unspecified, "nothing").await.unwrap_err();
    assert_eq!(reason(&nothing), ErrorReason::FieldRequired);
    let nameless = scene.prepare(KeyRole::Box, "").await.unwrap_err();
    assert_eq!(reason(&nameless), ErrorReason::FieldRequired);
    let unknown = scene.promote(KeyRole::Box, "b-00000000").await.unwrap_err();
    assert_eq!(reason(&unknown), ErrorReason::FieldInvalid);
    assert_eq!(std::fs::read(&scene.file).unwrap(), before);

    // Where keys are in memory there is no file to change.
    let cluster = Cluster::of_one().await;
    let refused = cluster.admin(0).await.admin().list_keys(ListKeysRequest {}).await.unwrap_err();
    assert_eq!(reason(&refused), ErrorReason::Unimplemented);
}

#[tokio::test]
async fn no_secret_is_told_or_logged_and_every_change_is_audited() {
    let log = Log::capture();
    let scene = Scene::set().await;
    let key = scene.prepare(KeyRole::Box, "prepare-1").await.unwrap();
    scene.promote(KeyRole::Box, &key.id).await.unwrap();
    let told = format!("{:?} {key:?}", scene.list().await);
    let text = String::from_utf8(log.text()).unwrap();
    let file = std::fs::read_to_string(&scene.file).unwrap();
    let secrets: Vec<_> = file.split_whitespace().filter(|word| word.len() == 64).collect();
    assert_eq!(secrets.len(), 5);
    for secret in secrets {
        assert!(!told.contains(secret) && !text.contains(secret));
    }
    for action in ["prepare_key", "promote_key"] {
        let audited = text.lines().filter(|line| line.contains(" audit: ") && line.contains(action));
        assert_eq!(audited.filter(|line| line.contains(&key.id) && line.contains("olga")).count(), 1);
    }
}
