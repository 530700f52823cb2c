"""What a run tells the outside: the progress bar, the diary and the checkpoint, and when each of them is due."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

from hecka.errors import InputError
from hecka.training import checkpoint, record
from hecka.training.checkpoint import Settings
from hecka.training.progress import Display
from hecka.training.record import Records
from hecka.training.session import Session
from hecka.training.tree import pack

LOOK_EVERY = 0.25  # seconds between two looks at the device: smooth for eyes, and too rare to hold up a GPU


class Logbook:
    """Looks at the device now and then, and keeps a run on disk.

    Args:
        session: what to report and to keep.
        settings: what must be equal in a run that goes on from these files.
        folder: for the files; None keeps nothing on disk.
        save_every: seconds between two checkpoints.
        records: the diary so far.
        display: the bar.
    """

    def __init__(
        self,
        session: Session,
        settings: Settings,
        folder: Path | None,
        save_every: float,
        records: Records,
        display: Display,
    ) -> None:
        self.session = session
        self.settings = settings
        self.path = None if folder is None else folder / checkpoint.NAME
        self.save_every = save_every
        self.records = records
        self.display = display
        self._began = time.perf_counter() - session.position.seconds
        self._looked = self._saved = time.perf_counter()

    def look(self) -> None:
        """Every quarter of a second: are all numbers finite, and redraw the bar."""
        now = time.perf_counter()
        if now - self._looked < LOOK_EVERY:
            return
        self.check()
        self.records.settle()
        self.display.update(self.session.position.step, self.session.meter.read())
        self._looked = now

    def check(self) -> None:
        """Raise if any number has become NaN or infinite."""
        self.session.meter.check(self.path)

    def note(self, scores: dict[str, float]) -> None:
        """Write down the epoch under way: the means of its parts, and the validation's ``scores``."""
        position = self.session.position
        position.seconds = time.perf_counter() - self._began
        head = {
            "epoch": position.epoch + 1,
            "step": position.step,
            "seconds": position.seconds,
            "learning_rate": float(position.learning_rate),  # some optimizers hold a tensor
        }
        self.records.add(head | scores, self.session.meter.means())

    def save_if_due(self) -> None:
        """Save, unless that was less than ``save_every`` seconds ago."""
        if time.perf_counter() - self._saved >= self.save_every:
            self.save()

    def save(self) -> None:
        """See that all numbers are finite, then write the diary, then the checkpoint."""
        self.check()
        self.session.position.seconds = time.perf_counter() - self._began
        self.records.write()
        if self.path is not None:
            checkpoint.write(self.path, self.settings, self.session.state_dict())
        self._saved = time.perf_counter()


def prepare(folder: Path, session: Session) -> None:
    """Find out before the training, not after its first epoch, whether a run can be kept in ``folder``."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise InputError(f"fit: expected a folder to write to, got out={str(folder)!r} ({error})") from error
    pack(session.state_dict())


def resume(path: Path, session: Session, settings: Settings) -> None:
    """Bring ``session`` to where the checkpoint at ``path`` was written, if it is one of the same run."""
    weights: dict[str, Any] = checkpoint.read(path, "members")
    checkpoint.check_architecture(path, weights, session.members.state_dict())
    checkpoint.check_settings(path, checkpoint.read(path, "settings"), settings)
    session.load_state_dict({"members": weights, "run": checkpoint.read(path, "run")})


def earlier_records(folder: Path | None, session: Session, finished: bool) -> Records:
    """The diary up to where the session is: whole epochs, and the last part of one only if nothing follows it."""
    position = session.position
    if folder is None:
        return Records(None)
    return Records(folder / record.NAME, position.epoch + (finished and position.batch > 0))
