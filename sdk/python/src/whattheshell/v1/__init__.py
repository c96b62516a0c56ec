"""The messages and clients of the package `whattheshell.v1`, generated from its protos."""
