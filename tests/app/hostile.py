"""Files and names that try to break what reads them."""

from __future__ import annotations

import functools
import gzip
import io
import random

import pyarrow as pa
import pyarrow.parquet as pq

SCRIPT = "<script>document.title='run'</script><img src=x onerror=\"document.title='run'\">"


def hostile_names() -> list[str]:
    """Names that would leave a folder, hide something or run a script."""
    return [
        "../../../etc/passwd",
        "..\\..\\windows\\system32\\a.csv",
        "/etc/shadow",
        "C:\\a.csv",
        "a/../../b.csv",
        "..",
        ".",
        "",
        "\x00.csv",
        "a\x00b.csv",
        "\n\r\t.csv",
        "con.csv",
        "x" * 5000 + ".csv",
        f"{SCRIPT}.csv",
        "\u202egnp.csv",
        "🦉.csv",
        "a.csv/../session.json",
        "session.json",
        "table.parquet",
        "%2e%2e%2f.csv",
        "$(touch x).csv",
        "-rf.csv",
    ]


@functools.cache
def hostile_files() -> tuple[tuple[str, bytes], ...]:
    """Files that are damaged, lie about themselves, or hold what should not run."""
    plain = b"a,b,c\n" + b"".join(b"%d,%d,%s\n" % (i, i % 3, b"" if i % 2 else b"yes") for i in range(40))
    table = pa.table({"a": pa.array(["x", None] * 20), "b": list(range(40)), SCRIPT: [SCRIPT] * 40})
    written = io.BytesIO()
    pq.write_table(table, written)
    parquet = written.getvalue()
    nested = io.BytesIO()
    pq.write_table(pa.table({"a": [["x"], [None]], "b": [{"k": 1}, {"k": 2}]}), nested)
    files = [
        ("empty.csv", b""),
        ("zeros.csv", b"\0" * 1000),
        ("noise.csv", random.Random(0).randbytes(5000)),
        ("one.csv", b"a"),
        ("lines.csv", b"\n\n\n\n"),
        ("quotes.csv", b'"a,b\n1,2\n'),
        ("twice.csv", b"a,a\n1,2\n"),
        ("blank.csv", b"a,\n1,2\n"),
        ("ragged.csv", b"a,b\n1\n1,2,3\n"),
        ("wide.csv", b",".join(b"c%d" % i for i in range(300)) + b"\n" + b",".join([b"1"] * 300) + b"\n"),
        ("long.csv", b"a,b\n" + b"x" * 10**6 + b",1\n"),
        ("nan.csv", b"a,b\nnan,inf\n-inf,1e999\n,1\n"),
        ("formula.csv", b"a,b\n=cmd|'/C calc'!A0,1\n@SUM(1),2\n,3\n"),
        ("script.csv", f"a,{SCRIPT}\n{SCRIPT},1\n,2\n{SCRIPT},3\n".encode()),
        ("surrogate.csv", b"a,b\n\xed\xa0\x80,1\n"),
        ("bom.csv", b"\xff\xfea\0,\0b\0\n\0" + b"1\0,\0" * 3),
        ("utf16.csv", "a,b\nyes,1\n,2\n".encode("utf-16")),
        ("controls.csv", b"a,b\n\x1b[2J,\x07\n\x1b]0;x\x07,1\n"),
        ("lies.parquet", plain),
        ("lies.csv", parquet),
        ("cut.parquet", parquet[:-20]),
        ("head.parquet", b"PAR1" + b"\xff" * 100 + b"PAR1"),
        ("foot.parquet", parquet[:-8] + b"\xff\xff\xff\x7fPAR1"),
        ("names.parquet", parquet),
        ("nested.parquet", nested.getvalue()),
        ("cut.csv.gz", gzip.compress(plain)[:-6]),
        ("lies.csv.gz", plain),
        ("twice.csv.gz", gzip.compress(gzip.compress(plain))),
        ("tail.csv.gz", gzip.compress(plain) + b"tail"),
        ("lies.xlsx", plain),
        ("lies.sav", plain),
        ("head.sav", b"$FL2@(#) SPSS DATA FILE" + b"\xff" * 1000),
        ("head.dta", b"<stata_dta><header><release>118</release>" + b"\xff" * 1000),
        ("head.arrow", b"ARROW1\0\0" + b"\xff" * 1000),
        ("stream.arrow", b"\xff\xff\xff\xff" + b"\xff\xff\xff\x7f" * 100),
        ("pickle.csv", b"cos\nsystem\n(S'touch pickled'\ntR."),
        ("zip.csv", b"PK\x03\x04" + b"\0" * 100),
    ]
    return tuple(files)


def mutated(seed: int) -> tuple[str, bytes]:
    """A hostile file with some of its bytes changed, lost or repeated."""
    rng = random.Random(seed)
    name, content = rng.choice(hostile_files())
    part = bytearray(content[:20000] or b"a,b\n1,2\n")
    for _ in range(rng.randint(1, 8)):
        at = rng.randrange(len(part))
        what = rng.randrange(3)
        if what == 0:
            part[at] = rng.randrange(256)
        elif what == 1:
            del part[at : at + rng.randint(1, 50)]
            part = part or bytearray(b"a")
        else:
            part[at:at] = part[at : at + rng.randint(1, 50)] * rng.randint(1, 20)
    return name, bytes(part)
