//! What the Shell: one file per RPC service.
