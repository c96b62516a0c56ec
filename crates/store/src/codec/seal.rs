//! Seals: their public side, and their openings under lock.

use referee::{DrawAnswer, RequestId, Seal, SealFacts, Stamp, TurnRequests};
use sealing::{BoxContext, BoxNonce, Commitment, Opening, PlayerSignature, SealBox, open_box, seal_box};

use super::field::{
    bytes, damaged, fixed, optional, optional_request_id, request_id, request_text, required,
};
use super::{CodecError, Keyring, record};

pub(super) fn write_facts(facts: &SealFacts) -> record::SealFacts {
    let SealFacts { commitment, sealed, request_id, key_id, signature } = facts;
    write_parts(commitment, sealed.as_ms(), request_id, key_id, signature.as_ref())
}

/// The same, where they are not kept together: each is copied once.
pub(super) fn write_parts(
    commitment: &Commitment,
    sealed_ms: u64,
    request_id: &RequestId,
    key_id: &str,
    signature: Option<&PlayerSignature>,
) -> record::SealFacts {
    record::SealFacts {
        commitment: commitment.as_bytes().to_vec(),
        sealed_ms,
        request_id: request_id.as_str().to_owned(),
        key_id: key_id.to_owned(),
        signature: bytes(signature),
    }
}

pub(super) fn read_facts(facts: record::SealFacts) -> Result<SealFacts, CodecError> {
    Ok(SealFacts {
        commitment: Commitment::from_bytes(fixed(&facts.commitment, "SealFacts.commitment")?),
        sealed: Stamp::from_ms(facts.sealed_ms),
        request_id: request_id(&facts.request_id, "SealFacts.request_id")?,
        key_id: facts.key_id.into(),
        signature: optional(&facts.signature, "SealFacts.signature", PlayerSignature::from_bytes)?,
    })
}

pub(super) fn write_requests(requests: &TurnRequests) -> Option<record::TurnRequests> {
    let answer = requests.answer.as_ref();
    (*requests != TurnRequests::default()).then(|| record::TurnRequests {
        reveal: request_text(requests.reveal.as_ref()),
        offer: request_text(requests.offer.as_ref()),
        answer: request_text(answer.map(|answer| &answer.request_id)),
        accept: answer.is_some_and(|answer| answer.accept),
    })
}

pub(super) fn read_requests(requests: Option<record::TurnRequests>) -> Result<TurnRequests, CodecError> {
    let requests = requests.unwrap_or_default();
    let answer = optional_request_id(&requests.answer, "TurnRequests.answer")?;
    Ok(TurnRequests {
        reveal: optional_request_id(&requests.reveal, "TurnRequests.reveal")?,
        offer: optional_request_id(&requests.offer, "TurnRequests.offer")?,
        answer: answer.map(|request_id| DrawAnswer { accept: requests.accept, request_id }),
    })
}

/// A seal of an unresolved turn; `context` is all but its commitment.
pub(super) fn write(
    seal: &Seal,
    context: BoxContext,
    keyring: &Keyring,
    nonce: BoxNonce,
) -> Result<record::Seal, CodecError> {
    let lock = |opening: &Opening| {
        let (key_id, key) = keyring.current();
        let sealed = seal_box(key, &context, opening, nonce).map_err(CodecError::Box)?;
        Ok(record::LockedOpening { key_id: key_id.as_str().to_owned(), r#box: sealed.as_bytes().to_vec() })
    };
    let opening = seal.opening.as_ref().map(lock).transpose()?;
    Ok(record::Seal { facts: Some(write_facts(&seal.facts)), opening })
}

/// Without a keyring, its opening is left out.
pub(super) fn read(
    seal: record::Seal,
    context: impl FnOnce(Commitment) -> BoxContext,
    keyring: Option<&Keyring>,
) -> Result<Seal, CodecError> {
    let facts = read_facts(required(seal.facts, "Seal.facts")?)?;
    let unlock = |(locked, keyring): (record::LockedOpening, &Keyring)| {
        let key_id = locked.key_id.parse().map_err(|_| damaged("LockedOpening.key_id"))?;
        let sealed = SealBox::from_bytes(fixed(&locked.r#box, "LockedOpening.box")?);
        let key = keyring.key(&key_id).ok_or(CodecError::UnknownKey { key_id })?;
        open_box(key, &context(facts.commitment), &sealed).map_err(CodecError::Box)
    };
    let opening = seal.opening.zip(keyring).map(unlock).transpose()?;
    Ok(Seal { facts, opening })
}
