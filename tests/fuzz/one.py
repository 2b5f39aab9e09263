"""Fuzz one reader in this process: `python -m fuzz.one READER FOLDER [libFuzzer's options]`.

With `--replay FILE` for FOLDER the reader is given that file once, outside libFuzzer, and whatever
escapes is shown.
"""

from __future__ import annotations

import hashlib
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from random import Random

#: Seconds of processor time past which an input of a few kilobytes is a finding in itself.
SLOW = 5.0
#: Largest input in bytes, and what libFuzzer stops at: seconds for one input, megabytes in all.
LIMITS = ("-max_len=16384", "-timeout=20", "-rss_limit_mb=2048", "-print_final_stats=1")


def main(arguments: list[str]) -> None:
    """Instrument the package, write the seeds, and hand over to libFuzzer, which does not return."""
    name, *rest = arguments
    if rest[:1] == ["--replay"]:
        from fuzz.targets import TARGETS

        TARGETS[name].read(Path(rest[1]).read_bytes())
        return
    import atheris

    with atheris.instrument_imports(include=["dialogeval"]):
        import dialogeval  # noqa: F401
        from fuzz.targets import TARGETS
    from fuzz.seeds import seeds_of

    folder, target = Path(rest[0]), TARGETS[name]
    corpus, seeds, findings = (folder / part for part in ("corpus", "seeds", "findings"))
    for made in (corpus, seeds, findings):
        made.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(seeds_of(name)):
        (seeds / str(number)).write_bytes(seed)

    def mutate(data: bytes, limit: int, seed: int) -> bytes:
        rng = Random(seed)
        # One input in three as libFuzzer would change it, bit by bit.
        changed = target.mutate(data, rng, limit) if rng.random() < 0.7 else None
        if changed is None or len(changed) > limit:
            changed = atheris.Mutate(data, limit)
        return bytes(changed)

    options = [*LIMITS, *rest[1:], f"-artifact_prefix={findings}/"]
    atheris.Setup(
        [sys.argv[0], *options, str(corpus), str(seeds)],
        watched(target.read, findings),
        custom_mutator=mutate,
    )
    atheris.Fuzz()


def watched(read: Callable[[bytes], None], findings: Path) -> Callable[[bytes], None]:
    """Return a reader that notes what escapes, one input of a kind, and goes on."""
    from dialogeval.exceptions import DialogevalError

    known: set[str] = set()

    def note(data: bytes, error: BaseException | str) -> None:
        if isinstance(error, str):
            text = kind = error
        else:
            text = "".join(traceback.format_exception(error))
            ours = [f for f in traceback.extract_tb(error.__traceback__) if "dialogeval" in f.filename]
            kind = f"{type(error).__name__} {ours[-1].filename}:{ours[-1].lineno}" if ours else text
        if kind not in known and len(known) < 50:
            known.add(kind)
            name = hashlib.sha256(kind.encode()).hexdigest()[:12]
            (findings / f"{name}.input").write_bytes(data)
            (findings / f"{name}.txt").write_text(text, "utf-8", "backslashreplace")

    def one(data: bytes) -> None:
        start = time.process_time()
        try:
            read(data)
        except DialogevalError as error:
            line = str(error)
            if not line.isprintable() or len(line) > 2000:
                note(data, f"the line of a refusal is not one short printable line: {type(error).__name__}")
        # Noted, not swallowed: the run shall find more than one.
        except Exception as error:
            note(data, error)
        if time.process_time() - start > SLOW:
            note(data, "slow")

    return one


if __name__ == "__main__":
    main(sys.argv[1:])
