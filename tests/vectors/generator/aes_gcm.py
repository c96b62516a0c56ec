"""AES-256-GCM (FIPS 197, NIST SP 800-38D) and HKDF-SHA256 (RFC 5869). For vectors only: slow, and leaks timing."""

import hmac

NONCE_BYTES, TAG_BYTES, BLOCK_BYTES, ROUNDS = 12, 16, 16, 14


def times_two(byte):
    return byte << 1 ^ (0x11B if byte & 0x80 else 0)


def field_product(a, b):
    result = 0
    while b:
        if b & 1:
            result ^= a
        a, b = times_two(a), b >> 1
    return result


def substitute(byte):
    inverse = next((other for other in range(256) if field_product(byte, other) == 1), 0)
    result = 0x63
    for shift in range(5):
        result ^= inverse << shift | inverse >> (8 - shift)
    return result & 0xFF


SUBSTITUTES = [substitute(byte) for byte in range(256)]


def round_keys(key):
    words, constant = [key[at:at + 4] for at in range(0, 32, 4)], 1
    for number in range(8, 4 * (ROUNDS + 1)):
        word = words[-1]
        if number % 8 == 0:
            word = bytes(SUBSTITUTES[byte] for byte in word[1:] + word[:1])
            word = bytes([word[0] ^ constant]) + word[1:]
            constant = times_two(constant)
        elif number % 8 == 4:
            word = bytes(SUBSTITUTES[byte] for byte in word)
        words.append(bytes(a ^ b for a, b in zip(words[-8], word)))
    return [b"".join(words[at:at + 4]) for at in range(0, len(words), 4)]


def encrypt_block(keys, block):
    state = [a ^ b for a, b in zip(block, keys[0])]
    for number, key in enumerate(keys[1:], 1):
        state = [SUBSTITUTES[byte] for byte in state]
        state = [state[(at + 4 * (at % 4)) % 16] for at in range(16)]
        if number < ROUNDS:
            mixed = []
            for column in range(0, 16, 4):
                a = state[column:column + 4]
                mixed += [field_product(2, a[i]) ^ field_product(3, a[(i + 1) % 4]) ^ a[(i + 2) % 4] ^ a[(i + 3) % 4]
                          for i in range(4)]
            state = mixed
        state = [a ^ b for a, b in zip(state, key)]
    return bytes(state)


def hash_product(x, y):
    result = 0
    for bit in range(127, -1, -1):
        if x >> bit & 1:
            result ^= y
        y = y >> 1 ^ (0xE1 << 120 if y & 1 else 0)
    return result


def padded(data):
    return data + bytes(-len(data) % BLOCK_BYTES)


def ghash(subkey, data):
    value = 0
    for at in range(0, len(data), BLOCK_BYTES):
        value = hash_product(value ^ int.from_bytes(data[at:at + BLOCK_BYTES], "big"), subkey)
    return value


def counted(keys, nonce, count):
    return encrypt_block(keys, nonce + count.to_bytes(4, "big"))


def encrypt(key, nonce, plaintext, associated):
    """The ciphertext, then the tag."""
    keys = round_keys(key)
    stream = b"".join(counted(keys, nonce, 2 + at) for at in range(-(-len(plaintext) // BLOCK_BYTES)))
    ciphertext = bytes(a ^ b for a, b in zip(plaintext, stream))
    lengths = (8 * len(associated)).to_bytes(8, "big") + (8 * len(ciphertext)).to_bytes(8, "big")
    subkey = int.from_bytes(encrypt_block(keys, bytes(BLOCK_BYTES)), "big")
    hashed = ghash(subkey, padded(associated) + padded(ciphertext) + lengths)
    tag = hashed ^ int.from_bytes(counted(keys, nonce, 1), "big")
    return ciphertext + tag.to_bytes(TAG_BYTES, "big")


def hkdf(salt, secret, info):
    """One block of output, 32 bytes."""
    extracted = hmac.digest(salt, secret, "sha256")
    return hmac.digest(extracted, info + b"\x01", "sha256")


def check_known_values():
    """FIPS 197 C.3, GCM's test case 16 (its tag), RFC 5869's test case 1 (its first 32 bytes)."""
    key, block = bytes(range(32)), bytes.fromhex("00112233445566778899aabbccddeeff")
    assert encrypt_block(round_keys(key), block).hex() == "8ea2b7ca516745bfeafc49904b496089"
    key = bytes.fromhex("feffe9928665731c6d6a8f9467308308" * 2)
    text = bytes.fromhex("d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
                         "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39")
    associated = bytes.fromhex("feedfacedeadbeeffeedfacedeadbeefabaddad2")
    sealed = encrypt(key, bytes.fromhex("cafebabefacedbaddecaf888"), text, associated)
    assert sealed[-TAG_BYTES:].hex() == "76fc6ece0f4e1768cddf8853bb2d551b"
    derived = hkdf(bytes(range(13)), b"\x0b" * 22, bytes(range(0xF0, 0xFA)))
    assert derived == bytes.fromhex("3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf")
