//! What the rules promise, through their public surface.

mod boards;
mod cells;
mod model;
mod plain;
mod rows;
mod symmetry;
mod text;
mod turns;
mod vector_files;
mod versions;
