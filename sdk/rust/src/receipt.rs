//! What a seal's receipt has to say, and who must have signed it.

use rules::Seat;
use sealing::{Receipt, Signature, verify_receipt};
use wire::v1;

use crate::ledger::Sealed;
use crate::{Error, MatchHandle, ReceiptMismatch, convert};

impl MatchHandle {
    /// The same match, with signed receipts for what is sealed through it from now on, or without; its
    /// clones are as they were. At first ranked matches have them and others do not: a signature costs the
    /// server about as much as the rest of the call.
    ///
    /// A signature is checked with the keys that the server lists, by [`Self::seal`]. Kept, the receipt
    /// is evidence: it shows everyone who knows the server's key that the server took the move.
    ///
    /// ```no_run
    /// # async fn example(game: whattheshell::MatchHandle) -> Result<(), Box<dyn std::error::Error>> {
    /// let game = game.with_signed_receipts(true);
    /// let receipt = game.seal(1, "E5".parse()?).await?;
    /// println!("signed by {}: {:02x?}", receipt.key_id, receipt.signature);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn with_signed_receipts(mut self, are_signed: bool) -> Self {
        self.sign_receipts = are_signed;
        self
    }

    /// Checks that a receipt is for what was sealed, and its signature where one was asked for or is
    /// there.
    pub(crate) async fn check_receipt(
        &self,
        receipt: &v1::SealReceipt,
        seat: Seat,
        turn: u32,
        sealed: &Sealed,
    ) -> Result<(), Error> {
        if receipt.r#match != self.name() {
            return Err(ReceiptMismatch::Match.into());
        }
        if receipt.turn != turn {
            return Err(ReceiptMismatch::Turn.into());
        }
        if convert::seat(receipt.seat) != Some(seat) {
            return Err(ReceiptMismatch::Seat.into());
        }
        if receipt.commitment != sealed.commitment.as_bytes() {
            return Err(ReceiptMismatch::Commitment.into());
        }
        match receipt.signature.is_empty() {
            true if self.sign_receipts => Err(ReceiptMismatch::Unsigned.into()),
            true => Ok(()),
            false => self.check_signature(receipt, seat, turn, sealed).await,
        }
    }

    async fn check_signature(
        &self,
        receipt: &v1::SealReceipt,
        seat: Seat,
        turn: u32,
        sealed: &Sealed,
    ) -> Result<(), Error> {
        let sealed_ms = convert::stamp_ms(receipt.seal_time.as_ref(), "seal_time")
            .map_err(|_| Error::Malformed("seal_time"))?;
        let key = self.player.caller().server_key(&receipt.key_id).await;
        let key = key.map_err(|error| Error::ServerKeys(Box::new(error)))?;
        let key = key.ok_or(ReceiptMismatch::UnknownKey)?;
        let signed = Receipt {
            match_id: self.terms.match_id,
            turn,
            seat,
            commitment: sealed.commitment,
            sealed_ms,
            key_id: receipt.key_id.as_str().into(),
        };
        let signature = Signature::try_from(&receipt.signature[..]).ok();
        let holds = signature.is_some_and(|signature| verify_receipt(&signed, &signature, &key));
        if holds { Ok(()) } else { Err(ReceiptMismatch::Signature.into()) }
    }
}
