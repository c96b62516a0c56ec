//! What the Shell: the generated API and the error table.
