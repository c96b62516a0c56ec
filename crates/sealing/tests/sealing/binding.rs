//! A digest holds for its own input only.

use proptest::prelude::*;
use rules::{Cell, PerSeat, Seat};
use sealing::{
    Bank, BotSeat, Commitment, Digest, EndReason, Ending, MatchId, MatchResult, Opening, Party, PublicKey,
    RULES_VERSION, Receipt, Salt, SealContext, SettingsFields, end_hash, match_hash, player_digest,
    transcript_digest,
};

/// All that a commitment is made of.
type Seal = ([u8; 16], u32, bool, String, [u8; 32], u8, [u8; 32]);

fn seals() -> impl Strategy<Value = Seal> {
    let player = "players/[A-Za-z0-9._-]{1,64}";
    (any::<[u8; 16]>(), any::<u32>(), any::<bool>(), player, any::<[u8; 32]>(), 1..=81u8, any::<[u8; 32]>())
}

fn with<T>(seal: &Seal, then: impl FnOnce(SealContext<'_>, Opening) -> T) -> T {
    let (match_id, turn, white, player, previous, cell, salt) = seal;
    let context = SealContext {
        match_id: MatchId::from_bytes(*match_id),
        turn: *turn,
        seat: if *white { Seat::White } else { Seat::Black },
        player,
        previous: &Digest::from_bytes(*previous),
    };
    then(context, Opening { cell: Cell::from_number(*cell).unwrap(), salt: Salt::from_bytes(*salt) })
}

fn commit(seal: &Seal) -> Commitment {
    with(seal, |context, opening| context.commit(&opening))
}

/// Takes field `index` of one seal into another.
fn graft(seal: &Seal, other: &Seal, index: usize) -> Seal {
    let mut grafted = seal.clone();
    match index {
        0 => grafted.0 = other.0,
        1 => grafted.1 = other.1,
        2 => grafted.2 = other.2,
        3 => grafted.3.clone_from(&other.3),
        4 => grafted.4 = other.4,
        5 => grafted.5 = other.5,
        _ => grafted.6 = other.6,
    }
    grafted
}

proptest! {
    #[test]
    fn a_commitment_opens_with_its_own_input_only(seal in seals(), other in seals(), index in 0..7usize) {
        let commitment = commit(&seal);
        prop_assert!(with(&seal, |context, opening| context.opens(&commitment, &opening)));
        let grafted = graft(&seal, &other, index);
        prop_assert_eq!(commit(&grafted) == commitment, grafted == seal);
        let opens = with(&grafted, |context, opening| context.opens(&commitment, &opening));
        prop_assert_eq!(opens, grafted == seal);
    }

    #[test]
    fn one_bit_of_salt_or_history_changes_the_commitment(seal in seals(), bit in 0..256usize, salt: bool) {
        let mut changed = seal.clone();
        let bytes = if salt { &mut changed.6 } else { &mut changed.4 };
        bytes[bit / 8] ^= 1 << (bit % 8);
        prop_assert_ne!(commit(&changed), commit(&seal));
    }

    /// Where one name ends and the next value begins cannot be shifted.
    #[test]
    fn names_do_not_run_into_each_other(black in "[a-z]{1,20}", white in "[a-z]{1,20}", cut in 0..20usize) {
        let joined = format!("{black}{white}");
        let (left, right) = joined.split_at(cut.min(joined.len()));
        let hash = |black: &str, white: &str| {
            let party = |player: &str| Party { player: player.to_owned(), public_key: None };
            let parties = PerSeat { black: party(black), white: party(white) };
            match_hash(MatchId::from_bytes([0; 16]), &settings(), parties.as_ref())
        };
        prop_assert_eq!(hash(left, right) == hash(&black, &white), left == black);
    }
}

fn settings() -> SettingsFields {
    SettingsFields {
        rules_version: RULES_VERSION.to_owned(),
        turn_time_ms: Some(30_000),
        bank: None,
        seal_mode: 1,
        reveal_time_ms: None,
        mode: 1,
        spectators: 1,
        seal_status: 1,
        start_time_ms: None,
        turn_limit: 500,
        idle_limit_ms: 1_000,
        bot: None,
    }
}

/// Asserts that no two of the digests are equal.
fn all_differ(digests: impl IntoIterator<Item = Digest>) {
    let mut digests: Vec<_> = digests.into_iter().collect();
    let made = digests.len();
    digests.sort_unstable();
    digests.dedup();
    assert_eq!(digests.len(), made);
}

#[test]
fn every_setting_is_in_the_first_hash() {
    let changes: [fn(&mut SettingsFields); 20] = [
        |_| (),
        |settings| settings.rules_version.push('0'),
        |settings| settings.turn_time_ms = None,
        |settings| settings.turn_time_ms = Some(0),
        |settings| settings.bank = Some(Bank { initial_ms: 1, increment_ms: 0 }),
        |settings| settings.bank = Some(Bank { initial_ms: 0, increment_ms: 1 }),
        |settings| settings.seal_mode = 2,
        |settings| settings.reveal_time_ms = Some(0),
        |settings| settings.reveal_time_ms = Some(10_000),
        |settings| settings.mode = 2,
        |settings| settings.spectators = 2,
        |settings| settings.seal_status = 2,
        |settings| settings.start_time_ms = Some(0),
        |settings| settings.start_time_ms = Some(20_000),
        |settings| settings.turn_limit = 501,
        |settings| settings.turn_limit = u64::MAX,
        |settings| settings.idle_limit_ms = 0,
        |settings| settings.bot = Some(BotSeat { seat: Seat::Black, level: 1 }),
        |settings| settings.bot = Some(BotSeat { seat: Seat::White, level: 1 }),
        |settings| settings.bot = Some(BotSeat { seat: Seat::Black, level: 2 }),
    ];
    let party = |player: &str| Party { player: player.to_owned(), public_key: None };
    let parties = PerSeat { black: party("players/p1"), white: party("players/p2") };
    all_differ(changes.map(|change| {
        let mut settings = settings();
        change(&mut settings);
        match_hash(MatchId::from_bytes([0; 16]), &settings, parties.as_ref())
    }));
}

#[test]
fn everything_about_the_players_is_in_the_first_hash() {
    let changes: [fn(&mut PerSeat<Party>); 7] = [
        |_| (),
        |parties| parties.black.player.push('x'),
        |parties| parties.white.player.push('x'),
        |parties| parties.black.public_key = Some(PublicKey::from_bytes([0; 32])),
        |parties| parties.black.public_key = Some(PublicKey::from_bytes([1; 32])),
        |parties| parties.white.public_key = Some(PublicKey::from_bytes([0; 32])),
        |parties| std::mem::swap(&mut parties.black, &mut parties.white),
    ];
    let party = |player: &str| Party { player: player.to_owned(), public_key: None };
    all_differ(changes.map(|change| {
        let mut parties = PerSeat { black: party("players/p1"), white: party("players/p2") };
        change(&mut parties);
        match_hash(MatchId::from_bytes([0; 16]), &settings(), parties.as_ref())
    }));
}

#[test]
fn everything_about_the_ending_is_in_the_last_hash() {
    let ending = |result, reason, time_ms, unresolved| Ending { result, reason, time_ms, unresolved };
    let held = Some(Commitment::from_bytes([9; 32]));
    let none = PerSeat::default();
    let last = Digest::from_bytes([0; 32]);
    let endings = [
        ending(MatchResult::Void, EndReason::Operator, 5, none),
        ending(MatchResult::Aborted, EndReason::Operator, 5, none),
        ending(MatchResult::Void, EndReason::Idle, 5, none),
        ending(MatchResult::Void, EndReason::Operator, 6, none),
        ending(MatchResult::Void, EndReason::Operator, 5, PerSeat { black: held, white: None }),
        ending(MatchResult::Void, EndReason::Operator, 5, PerSeat { black: None, white: held }),
    ];
    let other_history = end_hash(&Digest::from_bytes([1; 32]), &endings[0]);
    all_differ(endings.iter().map(|ending| end_hash(&last, ending)).chain([other_history]));
}

#[test]
fn everything_signed_is_in_what_the_signature_covers() {
    let changes: [fn(&mut Receipt); 7] = [
        |_| (),
        |receipt| receipt.match_id = MatchId::from_bytes([1; 16]),
        |receipt| receipt.turn += 1,
        |receipt| receipt.seat = Seat::White,
        |receipt| receipt.commitment = Commitment::from_bytes([1; 32]),
        |receipt| receipt.sealed_ms += 1,
        |receipt| receipt.key_id = format!("{}x", receipt.key_id).into(),
    ];
    let receipts = changes.map(|change| {
        let mut receipt = Receipt {
            match_id: MatchId::from_bytes([0; 16]),
            turn: 1,
            seat: Seat::Black,
            commitment: Commitment::from_bytes([0; 32]),
            sealed_ms: 1,
            key_id: "k1".into(),
        };
        change(&mut receipt);
        receipt.digest()
    });
    let (zero, one) = ([0; 32], [1; 32]);
    let others = [
        transcript_digest(&Digest::from_bytes(zero), "k1"),
        transcript_digest(&Digest::from_bytes(one), "k1"),
        transcript_digest(&Digest::from_bytes(zero), "k2"),
        player_digest(&Commitment::from_bytes(zero)),
        player_digest(&Commitment::from_bytes(one)),
    ];
    all_differ(receipts.into_iter().chain(others));
}
