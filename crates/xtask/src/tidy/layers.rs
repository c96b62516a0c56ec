//! Which crate may depend on what.

use super::Finding;

/// One crate's place in the layers.
pub(super) struct Layer {
    package: &'static str,
    /// Own crates it may depend on.
    own: Own,
    /// Crates of others.
    outside: Outside,
}

enum Own {
    Only(&'static [&'static str]),
    Any,
}

/// Names; one that ends in `*` stands for all that begin like it.
enum Outside {
    Only(&'static [&'static str]),
    Never(&'static [&'static [&'static str]]),
    Any,
}

const ASYNC: &[&str] = &["tokio*", "futures*", "async-*", "tower*"];
const RPC: &[&str] = &["tonic*", "hyper*", "axum*", "h2", "http", "http-*"];
const BACK_ENDS: &[&str] = &["fjall", "redb", "redis", "fred", "rusqlite", "sqlx*", "sled", "rocksdb"];

/// From the core outwards. Dependencies for tests only are free.
pub(super) const LAYERS: &[Layer] = &[
    // The rules of the game need nothing.
    Layer { package: "rules", own: Own::Only(&[]), outside: Outside::Only(&[]) },
    // Small crypto crates; no clock, no ambient randomness.
    Layer {
        package: "sealing",
        own: Own::Only(&["rules"]),
        outside: Outside::Only(&["aes-gcm", "ed25519-dalek", "hkdf", "sha2", "subtle", "zeroize"]),
    },
    // The match as a state machine is pure and synchronous.
    Layer {
        package: "referee",
        own: Own::Only(&["rules", "sealing"]),
        outside: Outside::Only(&["thiserror"]),
    },
    // Who plays whom is a pure function of tickets and time.
    Layer {
        package: "matchmaker",
        own: Own::Only(&[]),
        outside: Outside::Only(&["skillratings", "thiserror"]),
    },
    // Opponents are functions of a position and a seed: no clock, no ambient randomness.
    Layer { package: "bot", own: Own::Only(&["rules"]), outside: Outside::Only(&["chacha20", "thiserror"]) },
    // Traits and records in terms of the domain; no back end, no wire.
    Layer {
        package: "store",
        own: Own::Only(&["rules", "sealing", "referee", "matchmaker"]),
        outside: Outside::Never(&[RPC, BACK_ENDS]),
    },
    Layer {
        package: "store-embedded",
        own: Own::Only(&["rules", "sealing", "referee", "matchmaker", "store"]),
        outside: Outside::Never(&[RPC]),
    },
    Layer {
        package: "store-redis",
        own: Own::Only(&["rules", "sealing", "referee", "matchmaker", "store"]),
        outside: Outside::Never(&[RPC]),
    },
    // Any store can be put under the suite, so it knows none.
    Layer {
        package: "store-conformance",
        own: Own::Only(&["rules", "sealing", "referee", "matchmaker", "store"]),
        outside: Outside::Never(&[RPC, BACK_ENDS]),
    },
    // Generated code and the error table know no domain type.
    Layer { package: "wire", own: Own::Only(&[]), outside: Outside::Never(&[ASYNC, BACK_ENDS]) },
    // Layers around the service see requests and principals, never matches.
    Layer { package: "middleware", own: Own::Only(&["wire"]), outside: Outside::Never(&[BACK_ENDS]) },
    // The one place that knows both wire and domain; it is handed its store.
    Layer {
        package: "service",
        own: Own::Only(&["rules", "sealing", "referee", "matchmaker", "bot", "store", "wire", "middleware"]),
        outside: Outside::Never(&[BACK_ENDS]),
    },
    // Where what is measured goes; it knows nothing of what that is.
    Layer { package: "telemetry", own: Own::Only(&[]), outside: Outside::Never(&[BACK_ENDS]) },
    // A client sees what every other client sees.
    Layer {
        package: "whattheshell",
        own: Own::Only(&["rules", "sealing", "wire"]),
        outside: Outside::Never(&[BACK_ENDS]),
    },
    // The binary puts everything together.
    Layer { package: "wts", own: Own::Any, outside: Outside::Any },
    // Checks the product without being built from it.
    Layer { package: "xtask", own: Own::Only(&[]), outside: Outside::Any },
    Layer {
        package: "vectors",
        own: Own::Only(&["rules", "sealing"]),
        outside: Outside::Never(&[ASYNC, RPC, BACK_ENDS]),
    },
    // Kills the server as a process and asks it as a client.
    Layer { package: "durability", own: Own::Only(&["whattheshell"]), outside: Outside::Any },
    // Attacks the server as a process, and asks it as clients do.
    Layer {
        package: "flood",
        own: Own::Only(&["vectors", "whattheshell"]),
        outside: Outside::Never(&[BACK_ENDS]),
    },
    // Runs nodes as processes over real servers and asks them as clients do.
    Layer {
        package: "chaos",
        own: Own::Only(&["whattheshell", "redis-servers"]),
        outside: Outside::Never(&[BACK_ENDS]),
    },
    // Starts servers for whoever tests against them, and is free of the clients that are tested.
    Layer { package: "redis-servers", own: Own::Only(&[]), outside: Outside::Never(&[RPC, BACK_ENDS]) },
    // Runs the service over models of whatever it stands on.
    Layer { package: "simulation", own: Own::Any, outside: Outside::Never(&[BACK_ENDS]) },
    Layer { package: "fuzz", own: Own::Any, outside: Outside::Any },
    Layer { package: "service-tests", own: Own::Any, outside: Outside::Any },
];

/// A crate of the workspace.
pub(super) struct Package {
    pub(super) name: String,
    /// Normal and build dependencies, optional ones too.
    pub(super) dependencies: Vec<Dependency>,
}

pub(super) struct Dependency {
    pub(super) name: String,
    /// It is a crate of this workspace.
    pub(super) own: bool,
}

/// What in `packages` breaks `layers`.
pub(super) fn check(layers: &[Layer], packages: &[Package]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in packages {
        let Some(layer) = layers.iter().find(|layer| layer.package == package.name) else {
            findings.push(Finding {
                place: package.name.clone(),
                problem: "this crate has no place in the layers".to_owned(),
                remedy: "Add a line for it to LAYERS in crates/xtask/src/tidy/layers.rs and to ARCHITECTURE.md.",
            });
            continue;
        };
        findings.extend(package.dependencies.iter().filter_map(|dependency| refuse(layer, dependency)));
    }
    let stale = layers.iter().filter(|layer| packages.iter().all(|package| package.name != layer.package));
    findings.extend(stale.map(|layer| Finding {
        place: layer.package.to_owned(),
        problem: "the layers have a place for this crate, the workspace has no such crate".to_owned(),
        remedy: "Remove its line from LAYERS in crates/xtask/src/tidy/layers.rs.",
    }));
    findings
}

fn refuse(layer: &Layer, dependency: &Dependency) -> Option<Finding> {
    let name = dependency.name.as_str();
    let remedy = if dependency.own {
        match layer.own {
            Own::Any => return None,
            Own::Only(allowed) if allowed.contains(&name) => return None,
            Own::Only(_) => {
                "Move the code to a crate that may see both, or hand the value in from outside; \
                 the layers are in ARCHITECTURE.md."
            }
        }
    } else {
        match layer.outside {
            Outside::Any => return None,
            Outside::Only(allowed) if covers(allowed, name) => return None,
            Outside::Never(banned) if !banned.iter().any(|group| covers(group, name)) => return None,
            Outside::Only(_) | Outside::Never(_) => {
                "Do without it here; if the layer itself should change, change LAYERS in \
                 crates/xtask/src/tidy/layers.rs and ARCHITECTURE.md with it."
            }
        }
    };
    Some(Finding { place: layer.package.to_owned(), problem: format!("must not depend on `{name}`"), remedy })
}

fn covers(names: &[&str], name: &str) -> bool {
    names.iter().any(|entry| match entry.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => *entry == name,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &[Layer] = &[
        Layer { package: "core", own: Own::Only(&[]), outside: Outside::Only(&["sha2"]) },
        Layer { package: "shell", own: Own::Only(&["core"]), outside: Outside::Never(&[RPC, BACK_ENDS]) },
    ];

    fn check_shell(dependencies: &[(&str, bool)], problems: &[&str]) {
        check_package("shell", dependencies, problems);
    }

    fn check_package(name: &str, dependencies: &[(&str, bool)], problems: &[&str]) {
        let dependencies = dependencies
            .iter()
            .map(|(name, own)| Dependency { name: (*name).to_owned(), own: *own })
            .collect();
        let mut packages = vec![Package { name: name.to_owned(), dependencies }];
        for layer in TABLE.iter().filter(|layer| layer.package != name) {
            packages.push(Package { name: layer.package.to_owned(), dependencies: Vec::new() });
        }
        let found: Vec<String> = check(TABLE, &packages).into_iter().map(|finding| finding.problem).collect();
        assert_eq!(found, problems);
    }

    #[test]
    fn a_crate_may_depend_on_what_its_layer_allows() {
        check_shell(&[("core", true), ("tokio", false)], &[]);
        check_package("core", &[("sha2", false)], &[]);
    }

    #[test]
    fn an_own_crate_of_another_layer_is_refused() {
        check_package("core", &[("shell", true)], &["must not depend on `shell`"]);
    }

    #[test]
    fn a_banned_family_of_crates_is_refused() {
        check_shell(
            &[("tonic-prost", false), ("redis", false)],
            &["must not depend on `tonic-prost`", "must not depend on `redis`"],
        );
    }

    #[test]
    fn a_pure_crate_takes_nothing_that_is_not_listed() {
        check_package("core", &[("serde", false)], &["must not depend on `serde`"]);
    }

    #[test]
    fn a_crate_without_a_place_is_found() {
        check_package("helper", &[], &["this crate has no place in the layers"]);
    }

    #[test]
    fn a_place_without_a_crate_is_found() {
        let packages = [Package { name: "core".to_owned(), dependencies: Vec::new() }];
        let findings = check(TABLE, &packages);
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].place, "shell");
    }
}
