//! `cargo xtask lint`: `buf lint` and `buf format` over `proto/`, with a buf of one pinned version.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Context as _;

use crate::{process, tool};

/// The buf that `proto/buf.yaml` is written for. Another version may know other rules and another layout.
const BUF_VERSION: &str = "1.75.0";

const PROTO_DIR: &str = "proto";

/// Lints the protos and formats them, or, with `check`, only shows what formatting would change.
///
/// # Errors
/// buf cannot be installed, a rule is broken, or, with `check`, a file is not formatted.
pub(crate) fn run(check: bool) -> anyhow::Result<()> {
    let buf = buf()?;
    let call = |args: &[&str]| process::run(Command::new(&buf).args(args).current_dir(PROTO_DIR));
    call(&["lint"])?;
    if check {
        call(&["format", "--diff", "--exit-code"]).context("run `cargo xtask lint` to format the protos")
    } else {
        call(&["format", "--write"])
    }
}

/// The path of buf, installed first if it is not there.
///
/// # Errors
/// It cannot be installed.
pub(crate) fn buf() -> anyhow::Result<PathBuf> {
    let environment = tool::python_environment("buf", &format!("buf-bin=={BUF_VERSION}\n"))
        .context("cannot install buf from its Python package `buf-bin`")?;
    Ok(environment.join("bin/buf"))
}
