//! What a ticket may say.

use matchmaker::{Ticket, TicketError, TimeControlPlace, TimeControls};

use crate::script::{place, waits};

#[test]
fn a_ticket_needs_a_time_control() {
    let mut content = waits("ann", 0, 1500);
    content.time_controls = TimeControls::default();
    assert_eq!(Ticket::new(content), Err(TicketError::NoTimeControl));
}

#[test]
fn numbers_out_of_range_are_refused() {
    let refused = |content| Ticket::new(content).unwrap_err().to_string();
    let rating = "rating must be from -10000 to 10000 points";
    assert_eq!(refused(waits("ann", 0, Ticket::RATING_MAX_POINTS + 1)), rating);
    assert_eq!(refused(waits("ann", 0, i32::MIN)), rating);
    let mut content = waits("ann", 0, 1500);
    content.deviation_points = u32::MAX;
    assert_eq!(refused(content), "deviation must be from 0 to 1000 points");
}

#[test]
fn lists_and_names_have_an_end() {
    let mut content = waits("ann", 0, 1500);
    content.exclusions = vec!["bob".to_owned(); Ticket::EXCLUSIONS_MAX];
    content.recent_opponents = vec!["bob".to_owned(); Ticket::RECENT_OPPONENTS_MAX];
    assert!(Ticket::new(content.clone()).is_ok());
    content.recent_opponents.push("cid".to_owned());
    let max = Ticket::RECENT_OPPONENTS_MAX;
    assert_eq!(Ticket::new(content.clone()), Err(TicketError::TooMany { field: "recent_opponents", max }));
    content.exclusions.push("cid".to_owned());
    let max = Ticket::EXCLUSIONS_MAX;
    assert_eq!(Ticket::new(content), Err(TicketError::TooMany { field: "exclusions", max }));
    let long = "x".repeat(Ticket::NAME_MAX_BYTES + 1);
    assert_eq!(Ticket::new(waits(&long, 0, 1500)), Err(TicketError::NameTooLong));
}

#[test]
fn a_set_of_time_controls_keeps_the_order_of_the_pool() {
    assert_eq!(TimeControlPlace::new(TimeControlPlace::COUNT_MAX), None);
    let some: TimeControls = [place(15), place(0), place(7), place(0)].into_iter().collect();
    assert_eq!(some.iter().map(TimeControlPlace::index).collect::<Vec<_>>(), [0, 7, 15]);
    let other: TimeControls = [place(7), place(15)].into_iter().collect();
    assert_eq!(some.common(other).first(), Some(place(7)));
    assert_eq!(TimeControls::default().first(), None);
}
