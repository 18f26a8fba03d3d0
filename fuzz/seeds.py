#!/usr/bin/env python3
"""Writes the seeds in postcard's form: of `journal` and `request_state`.

To be run again when the form of journal::Entry, outbound::Answer or call::SealedCall changes.
"""

from pathlib import Path

HERE = Path(__file__).parent / "seeds"


def number(value):
    """An unsigned number, as a varint."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def signed(value):
    return number((value << 1) ^ (value >> 63) if value < 0 else value << 1)


def text(value):
    value = value.encode() if isinstance(value, str) else value
    return number(len(value)) + value


def several(items):
    return number(len(items)) + b"".join(items)


DIGEST = bytes(range(16))
NOW = 1_700_000_000_000_000  # microseconds

# journal::Entry, in the order of its variants.
ENTRIES = {
    "clock": number(0) + number(NOW) + number(3),
    "start": number(1) + DIGEST + number(0),
    "start-failed": number(1) + DIGEST + number(4) + text("disk full"),
    "sleep": number(2) + DIGEST + number(NOW + 5_000_000),
    "poll": number(3) + several([number(0), number(2)]),
    "ask": number(4) + DIGEST + several([text("form"), text("roots")]),
    "input": number(5) + DIGEST + several([text("form") + text('{"action":"decline"}')]),
    "ask-refused": number(6) + DIGEST + number(0) + several([text("form")]),
    "record": number(7) + text("key") + DIGEST + number(8) + number(4) + number(NOW),
    "record-refused": number(8) + text("key") + DIGEST + number(0) + text("too large"),
    "http": number(9) + DIGEST + text(b"answer"),
}

# outbound::Answer.
ANSWERS = {
    "response": number(0)
    + number(200)
    + several([text("content-type") + text("text/plain"), text("x-a") + text(b"\xff")])
    + text("body"),
    "failed": number(1) + number(7) + text("expired"),
    "too-large": number(1) + number(13) + number(4_194_304),
}


def journal():
    folder = HERE / "journal"
    row = b"".join(ENTRIES.values())
    for stored in (0, 1):
        # Any bytes are operations; the lowest bits of the first are flags.
        operations = bytes([stored] + list(range(7, 252, 4)))
        operations = operations[: len(operations) // 4 * 4]
        head = bytes([len(operations) // 4])
        (folder / f"live-{stored}").write_bytes(head + operations)
        (folder / f"replay-{stored}").write_bytes(head + operations + row)
    for name, entry in {**ENTRIES, **ANSWERS}.items():
        (folder / name).write_bytes(bytes([1]) + b"\1\0\0\0" + entry)


def request_state():
    folder = HERE / "request_state"
    limits = [64 << 20, 10_000, 10_000, 4 << 20, 16 << 20, 30_000, 600_000]
    setup = bytes(32) + number(NOW) + b"".join(map(number, limits)) + number(0)
    form = (
        '{"method":"elicitation/create","params":{"mode":"form","message":"Who?","requestedSchema":'
        '{"type":"object","properties":{"name":{"type":"string"}}}}}'
    )
    roots = '{"method":"roots/list"}'
    sampling = (
        '{"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":'
        '{"type":"text","text":"x"}}],"maxTokens":5}}'
    )
    open_ = [text("form") + text(form), text("roots") + text(roots)]
    open_.append(text("sampling") + text(sampling))

    def sealed(given):
        return b"".join([
            signed(NOW // 1000 + 60_000),
            bytes([63]),
            setup,
            text(b"".join(ENTRIES.values())),
            several([text("key") + text("value")]),
            several([text("before") + DIGEST + text('{"action":"cancel"}')]),
            DIGEST,
            several(open_),
            several(given),
        ])

    (folder / "inside").write_bytes(b"\1" + sealed([]))
    given = text("roots") + text('{"roots":[]}')
    (folder / "inside-given").write_bytes(b"\1" + sealed([given]))
    (folder / "text").write_bytes(b"\0" + b"QUJD" * 30)
    (folder / "no-text").write_bytes(b"\0requestState")


journal()
request_state()
