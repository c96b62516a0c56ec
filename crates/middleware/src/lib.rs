//! What the Shell: tower layers around the service.
