//! What the Shell: the service over real sockets.
