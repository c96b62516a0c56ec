//! Resource names.

use wire::{Collection, is_id};

const ALL: [Collection; 5] =
    [Collection::Players, Collection::Matches, Collection::Invites, Collection::Tickets, Collection::Nodes];

#[test]
fn a_name_gives_back_its_id_in_its_own_collection_only() {
    let longest = "x".repeat(64);
    for id in ["p1", "01890a5d-ac96-774b-bcce-b302099a8057", "A.b_c-9", &longest] {
        for collection in ALL {
            let name = collection.name(id).unwrap();
            for other in ALL {
                let expected = if other == collection { Some(id) } else { None };
                assert_eq!(other.id(&name).ok(), expected, "{name}");
            }
        }
    }
}

#[test]
fn whatever_else_comes_is_refused_with_the_pattern() {
    let too_long = format!("players/{}", "x".repeat(65));
    let odd = [
        "",
        "p1",
        "players",
        "players/",
        "players//",
        "players/a/b",
        "players/a b",
        "players/ä",
        " players/a",
    ];
    for name in odd.into_iter().chain([too_long.as_str()]) {
        let error = Collection::Players.id(name).unwrap_err().to_string();
        assert!(error.starts_with("must be players/{player}"), "{error}");
    }
    assert!(!is_id("") && !is_id(&"x".repeat(65)) && !is_id("a/b") && !is_id("a\n"));
    assert!(Collection::Matches.name("a/b").is_err());
}
