//! Colours. None of them says anything that a letter does not say too.

use ratatui::style::{Color, Modifier, Style};
use rules::{Piece, Seat};

/// How things are set off from each other. Blue, white and yellow are told apart by almost everyone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Palette {
    /// In colour.
    Colour,
    /// By weight and inversion only.
    Plain,
}

impl Palette {
    /// Colours, unless the person has set `NO_COLOR` to anything.
    pub(crate) fn of_environment() -> Self {
        let is_plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        if is_plain { Self::Plain } else { Self::Colour }
    }

    pub(super) fn piece(self, piece: Option<Piece>) -> Style {
        let style = Style::new();
        match (self, piece) {
            (Self::Colour, Some(Piece::Turtle(Seat::Black))) => style.fg(Color::White).bg(Color::Blue).bold(),
            (Self::Colour, Some(Piece::Turtle(Seat::White))) => {
                style.fg(Color::Black).bg(Color::White).bold()
            }
            (Self::Colour, Some(Piece::Egg)) => style.fg(Color::Black).bg(Color::Yellow),
            (Self::Plain, Some(Piece::Turtle(Seat::Black))) => style.bold(),
            (Self::Plain, Some(Piece::Turtle(Seat::White))) => style.reversed(),
            (Self::Plain, Some(Piece::Egg)) => style.underlined(),
            (_, None) => style.dim(),
        }
    }

    pub(crate) fn title(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    pub(crate) fn accent(self) -> Style {
        match self {
            Self::Colour => Style::new().fg(Color::Cyan).bold(),
            Self::Plain => Style::new().bold(),
        }
    }

    pub(crate) fn warning(self) -> Style {
        match self {
            Self::Colour => Style::new().fg(Color::Yellow).bold(),
            Self::Plain => Style::new().bold(),
        }
    }
}
