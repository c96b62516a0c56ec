//! `cargo xtask generate`: the Rust code of `proto/`: the API's, with its descriptors, into `crates/wire`,
//! and that of stored records into `crates/store`.
//!
//! What comes out is committed, so that nobody needs a compiler for protos to build, and a change of the
//! API shows in review. `cargo xtask test` generates again and refuses a difference.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

const PROTO_DIR: &str = "proto";

/// A folder of generated code, and what writes all of it.
pub(crate) struct Generated {
    pub(crate) dir: &'static str,
    pub(crate) write: fn(&Path) -> anyhow::Result<()>,
    /// The task that does.
    pub(crate) task: &'static str,
}

const GENERATED: [Generated; 2] = [
    Generated { dir: "crates/wire/src/generated", write: generate_api, task: "generate" },
    Generated { dir: "crates/store/src/generated", write: generate_storage, task: "generate" },
];

/// The services that players and back ends reach; their imports come along.
const PUBLIC_PROTOS: &[&str] = &[
    "whattheshell/v1/error_reason.proto",
    "whattheshell/v1/feed_service.proto",
    "whattheshell/v1/match_service.proto",
    "whattheshell/v1/matchmaking_service.proto",
    "whattheshell/v1/player_service.proto",
];

/// The services that only operators reach. A descriptor set of its own keeps them out of the public
/// listener's reflection.
const ADMIN_PROTOS: &[&str] = &["whattheshell/admin/v1/admin_service.proto"];

/// The records that stores keep. They import nothing of the API, and no descriptor set tells of them.
const STORAGE_PROTOS: &[&str] = &[
    "whattheshell/storage/v1/access.proto",
    "whattheshell/storage/v1/feed.proto",
    "whattheshell/storage/v1/invite.proto",
    "whattheshell/storage/v1/match.proto",
    "whattheshell/storage/v1/node.proto",
    "whattheshell/storage/v1/player.proto",
    "whattheshell/storage/v1/request.proto",
    "whattheshell/storage/v1/shard.proto",
    "whattheshell/storage/v1/turn.proto",
];

/// Messages with a field of their own that must not show: a cell or a salt before its turn resolves, a
/// token, a join secret. prost derives no `Debug` for them; `wire`'s `redacted` has one that is silent.
/// Messages that contain one of these show it through that `Debug`, so they need no entry.
const REDACTED: &[&str] = &[
    ".whattheshell.v1.AcceptInviteRequest",
    ".whattheshell.v1.CreateInviteResponse",
    ".whattheshell.v1.GetInviteRequest",
    ".whattheshell.v1.MintPlayerTokenResponse",
    ".whattheshell.v1.OpenMove",
    ".whattheshell.v1.OwnSeal",
];

/// Generates everything, or, with `check`, only compares with what is there.
///
/// # Errors
/// A proto does not compile, a file cannot be written, or, with `check`, what is committed is not what the
/// protos say.
pub(crate) fn run(check: bool) -> anyhow::Result<()> {
    GENERATED.iter().try_for_each(|generated| if check { compare(generated) } else { write(generated) })
}

/// Writes one folder.
///
/// # Errors
/// Its generator fails.
pub(crate) fn write(generated: &Generated) -> anyhow::Result<()> {
    fs::create_dir_all(generated.dir)?;
    (generated.write)(Path::new(generated.dir))
}

/// Writes one folder elsewhere and compares it with the committed one.
///
/// # Errors
/// Its generator fails, or the two differ.
pub(crate) fn compare(generated: &Generated) -> anyhow::Result<()> {
    let target = Path::new(generated.dir);
    let fresh = Path::new("target").join(format!("generate-check-{}", std::process::id()));
    fs::create_dir_all(&fresh)?;
    let differing = (generated.write)(&fresh).and_then(|()| differences(target, &fresh));
    fs::remove_dir_all(&fresh).with_context(|| format!("cannot remove {}", fresh.display()))?;
    let differing = differing?;
    if !differing.is_empty() {
        let names: Vec<_> = differing.iter().map(|name| name.to_string_lossy()).collect();
        bail!(
            "{} in {} {} not what {PROTO_DIR}/ says; run `cargo xtask {}` and commit the result",
            names.join(", "),
            generated.dir,
            if names.len() == 1 { "is" } else { "are" },
            generated.task,
        );
    }
    Ok(())
}

fn generate_api(out: &Path) -> anyhow::Result<()> {
    fs::write(out.join("whattheshell.bin"), descriptors(PUBLIC_PROTOS)?)?;
    fs::write(out.join("whattheshell.admin.bin"), descriptors(ADMIN_PROTOS)?)?;
    compile(out, PUBLIC_PROTOS.iter().chain(ADMIN_PROTOS))
}

fn generate_storage(out: &Path) -> anyhow::Result<()> {
    compile(out, STORAGE_PROTOS)
}

fn compile<'a>(out: &Path, protos: impl IntoIterator<Item = &'a &'a str>) -> anyhow::Result<()> {
    // With imports: prost looks up the messages that others refer to.
    let sources = compiler(protos)?.include_imports(true).include_source_info(true).file_descriptor_set();
    tonic_prost_build::configure()
        .out_dir(out)
        .emit_rerun_if_changed(false)
        .codec_path("crate::SmallBuffers")
        .client_mod_attribute(".", "#[cfg(feature = \"client\")]")
        .skip_debug(REDACTED)
        .compile_fds(sources)
        .context("cannot generate code from the protos")
}

/// The encoded `FileDescriptorSet` of these protos and all they import, without comments: what reflection
/// serves. Files are ordered by their imports, then as listed, so the bytes are the same on every machine.
fn descriptors(protos: &[&str]) -> anyhow::Result<Vec<u8>> {
    Ok(compiler(protos)?.include_imports(true).include_source_info(false).encode_file_descriptor_set())
}

fn compiler<'a>(protos: impl IntoIterator<Item = &'a &'a str>) -> anyhow::Result<protox::Compiler> {
    let mut compiler = protox::Compiler::new([PROTO_DIR])?;
    for proto in protos {
        compiler
            .open_file(Path::new(PROTO_DIR).join(proto))
            .with_context(|| format!("cannot compile {PROTO_DIR}/{proto}"))?;
    }
    Ok(compiler)
}

/// The names of files that only one of the two directories has, or that differ.
fn differences(committed: &Path, fresh: &Path) -> anyhow::Result<BTreeSet<OsString>> {
    let mut names = file_names(committed)?;
    names.extend(file_names(fresh)?);
    names.retain(|name| {
        let read = |dir: &Path| -> Option<Vec<u8>> { fs::read(PathBuf::from(dir).join(name)).ok() };
        read(committed) != read(fresh)
    });
    Ok(names)
}

fn file_names(dir: &Path) -> anyhow::Result<BTreeSet<OsString>> {
    let entries = fs::read_dir(dir).with_context(|| format!("cannot read {}", dir.display()))?;
    entries.map(|entry| Ok(entry?.file_name())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_a_changed_and_a_left_over_file_are_all_named() {
        let root = std::env::temp_dir().join(format!("wts-generate-{}", std::process::id()));
        let (committed, fresh) = (root.join("committed"), root.join("fresh"));
        for dir in [&committed, &fresh] {
            fs::create_dir_all(dir).unwrap();
            fs::write(dir.join("same.rs"), "same").unwrap();
        }
        fs::write(committed.join("changed.rs"), "old").unwrap();
        fs::write(fresh.join("changed.rs"), "new").unwrap();
        fs::write(fresh.join("missing.rs"), "new").unwrap();
        fs::write(committed.join("left_over.rs"), "old").unwrap();
        let names = differences(&committed, &fresh).unwrap();
        fs::remove_dir_all(&root).unwrap();
        assert_eq!(names.into_iter().collect::<Vec<_>>(), ["changed.rs", "left_over.rs", "missing.rs"]);
    }
}
