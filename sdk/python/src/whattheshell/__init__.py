"""What the Shell, from Python.

- `whattheshell.v1`: the API's messages and clients, generated from its protos.
- `whattheshell.sealing`: commitments and hashes, byte for byte.
- `whattheshell.verify`: whether the openings and hashes of a match hold.
"""
