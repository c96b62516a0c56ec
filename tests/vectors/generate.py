#!/usr/bin/env python3
"""Makes commitments.jsonl, transcripts.jsonl, signatures.jsonl and boxes.jsonl.

`generator/` is an implementation of its own of the rules and of the sealing format, on the standard
library alone, so that it and the Rust crates check each other. The output is the same on every
machine; `--check` says whether the committed files are that output.
"""

import argparse
import json
import pathlib
import sys

sys.dont_write_bytecode = True

from generator import aes_gcm
from generator.boxes import box_rows
from generator.digests import commitment_inputs, commitment_rows
from generator.ed25519 import public_key, sign
from generator.matches import valid_matches
from generator.sealing import digest
from generator.signatures import signature_rows
from generator.tampered import tampered_matches
from generator.verifier import verify

HERE = pathlib.Path(__file__).parent


def transcript_rows():
    for number, (category, note, played) in enumerate(valid_matches(), 1):
        assert verify(played.row) is None, (category, note, verify(played.row))
        yield {"id": f"match-{number:03}", "category": category, "note": note, **played.row, "refused": None}
    for number, (claim, turn, seat, note, row) in enumerate(tampered_matches(), 1):
        assert verify(row) == (claim, turn, seat), (claim, turn, seat, note, verify(row))
        row = {key: value for key, value in row.items() if key != "positions"}
        refused = {"claim": claim, "turn": turn, "seat": seat}
        yield {"id": f"tampered-{number:03}", "category": claim, "note": note, **row, "refused": refused}


def check_known_values():
    """The sealing format's check value, RFC 8032's second test, and those of the ciphers."""
    aes_gcm.check_known_values()
    known = "c1d02a4717bbcb2ca83053d73d7c9eca0ec3af026851acc7cc0d7229f6798509"
    assert digest("commitment", next(commitment_inputs())) == known
    secret = bytes.fromhex("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb")
    assert public_key(secret).hex() == "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c"
    assert sign(secret, b"\x72").hex().startswith("92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8f")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare with the committed files, write nothing")
    check = parser.parse_args().check
    check_known_values()
    differs = False
    files = {"commitments.jsonl": commitment_rows(), "transcripts.jsonl": transcript_rows(),
             "signatures.jsonl": signature_rows(), "boxes.jsonl": box_rows()}
    for name, rows in files.items():
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        path = HERE / name
        if not check:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            print(f"{name} is not what generate.py makes", file=sys.stderr)
            differs = True
    return 1 if differs else 0


if __name__ == "__main__":
    sys.exit(main())
