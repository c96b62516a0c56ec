//! A bot that accepts an invite and plays at random.
//!
//! ```text
//! wts serve --dev
//! wts play --as ann --invite bot        # shows the invite's code
//! cargo run -p whattheshell --example random_bot -- invites/0198…
//! ```
#![expect(clippy::print_stdout, reason = "an example talks to its reader")]

use futures::StreamExt as _;
use rand::seq::IteratorRandom as _;
use whattheshell::{Client, Update};

const SERVER: &str = "http://127.0.0.1:7654";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let invite = std::env::args().nth(1).ok_or("give the invite: invites/…")?;
    let client = Client::connect(SERVER).await?;
    let token = client.mint_token("players/bot").await?.token;
    let bot = client.player(&token)?;

    let invite = bot.accept_invite(&invite, None).await?;
    let game = bot.join(&invite.r#match).await?;
    let mut updates = game.watch();
    while let Some(update) = updates.next().await {
        match update? {
            Update::Status(status) if game.is_due(&status) => {
                let cells = game.position().legal_cells();
                if let Some(cell) = cells.choose(&mut rand::rng()) {
                    game.seal(status.turn, cell).await?;
                }
            }
            Update::Turn(turn) => println!("turn {}: {:?}", turn.turn, turn.events),
            Update::Finished(finish) => println!("{}", finish.message.result().as_str_name()),
            _ => {}
        }
    }
    let verified = game.transcript().await?.verify()?;
    println!("{} turns, all of them verified", verified.turns.len());
    Ok(())
}
