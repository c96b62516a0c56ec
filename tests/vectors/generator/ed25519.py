"""Ed25519 as in RFC 8032, checked strictly. For vectors only: it is slow and leaks timing."""

import hashlib

PRIME = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
CURVE_D = -121665 * pow(121666, PRIME - 2, PRIME) % PRIME


def add(p, q):
    a, b = (p[1] - p[0]) * (q[1] - q[0]) % PRIME, (p[1] + p[0]) * (q[1] + q[0]) % PRIME
    c, d = 2 * p[3] * q[3] * CURVE_D % PRIME, 2 * p[2] * q[2] % PRIME
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % PRIME, g * h % PRIME, f * g % PRIME, e * h % PRIME


def multiply(scalar, point):
    result = (0, 1, 1, 0)
    while scalar:
        if scalar & 1:
            result = add(result, point)
        point, scalar = add(point, point), scalar >> 1
    return result


def point(y, odd):
    """The point with this y and an x of this parity, or None."""
    square = (y * y - 1) * pow(CURVE_D * y * y + 1, PRIME - 2, PRIME) % PRIME
    x = pow(square, (PRIME + 3) // 8, PRIME)
    if x * x % PRIME != square:
        x = x * pow(2, (PRIME - 1) // 4, PRIME) % PRIME
    if x * x % PRIME != square or (x == 0 and odd):
        return None
    x = PRIME - x if x & 1 != odd else x
    return x, y, 1, x * y % PRIME


def base_point():
    return point(4 * pow(5, PRIME - 2, PRIME) % PRIME, 0)


def compress(point):
    inverse = pow(point[2], PRIME - 2, PRIME)
    x, y = point[0] * inverse % PRIME, point[1] * inverse % PRIME
    return (y | (x & 1) << 255).to_bytes(32, "little")


def expand(secret):
    digest = hashlib.sha512(secret).digest()
    scalar = int.from_bytes(digest[:32], "little") & ((1 << 254) - 8) | 1 << 254
    return scalar, digest[32:]


def public_key(secret):
    return compress(multiply(expand(secret)[0], base_point()))


def sign(secret, message):
    scalar, prefix = expand(secret)
    key = compress(multiply(scalar, base_point()))
    nonce = int.from_bytes(hashlib.sha512(prefix + message).digest(), "little") % ORDER
    commitment = compress(multiply(nonce, base_point()))
    challenge = int.from_bytes(hashlib.sha512(commitment + key + message).digest(), "little") % ORDER
    return commitment + ((nonce + challenge * scalar) % ORDER).to_bytes(32, "little")


def decompress(data):
    number = int.from_bytes(data, "little")
    y, odd = number & ((1 << 255) - 1), number >> 255
    return point(y, odd) if y < PRIME else None


def is_small(p):
    """Whether eight times the point is the identity."""
    x, y, z, _ = multiply(8, p)
    return x % PRIME == 0 and (y - z) % PRIME == 0


def verify(key, message, signature):
    """Whether the signature holds, with one form for each and no point of small order."""
    owner, nonce = decompress(key), decompress(signature[:32])
    scalar = int.from_bytes(signature[32:], "little")
    if owner is None or nonce is None or scalar >= ORDER or is_small(owner) or is_small(nonce):
        return False
    challenge = int.from_bytes(hashlib.sha512(signature[:32] + key + message).digest(), "little") % ORDER
    return compress(multiply(scalar, base_point())) == compress(add(nonce, multiply(challenge, owner)))
