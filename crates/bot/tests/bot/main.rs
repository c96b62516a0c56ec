//! What the bots promise, through their public surface.

mod arena;
mod boards;
mod choices;
mod judgement;
mod strength;
mod symmetry;
