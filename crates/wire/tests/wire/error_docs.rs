//! The table of errors in the documentation is the one that the code answers by.

use std::fmt::Write as _;

use expect_test::expect_file;
use wire::error_rows;

/// `UPDATE_EXPECT=1 cargo test -p wire` writes the page.
#[test]
fn the_documented_table_is_made_from_the_code() {
    let mut page = String::from(
        "# Errors\n\n\
         <!-- Made from the error table in `crates/wire/src/error.rs`: \
         UPDATE_EXPECT=1 cargo test -p wire -->\n\n\
         Every error carries exactly one `google.rpc.ErrorInfo` of domain `whattheshell` whose `reason` \
         is stable; match on it, not on the message. `INVALID_ARGUMENT` comes with a \
         `google.rpc.BadRequest` that names the fields at fault, `FAILED_PRECONDITION` with a \
         `google.rpc.PreconditionFailure` that names the resource. Where a time to try again is given, \
         `google.rpc.RetryInfo` says it. `error_reason.proto` has a worked example of each.\n\n\
         | reason | gRPC code | try again after | what is wrong, what to do |\n\
         | --- | --- | --- | --- |\n",
    );
    for row in error_rows() {
        let retry = row.retry_delay.map_or("–".to_owned(), |delay| format!("{} ms", delay.as_millis()));
        let code = format!("{:?}", row.code);
        writeln!(page, "| `{}` | {code} | {retry} | {} |", row.name(), row.message).unwrap();
    }
    expect_file!["../../../../docs/errors.md"].assert_eq(&page);
}
