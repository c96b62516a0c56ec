//! What the Shell: commitments, transcript hashes and receipts.
