"""Where an instance's rows come from: a local folder, its definition, or the Penn Machine Learning Benchmarks."""

from __future__ import annotations

import zlib
from pathlib import Path

from s2oct.errors import StudyError
from s2oct.study.generate import GENERATED, generate
from s2oct.study.instances import TWO_CLASSES, InstanceFacts, StudyData, facts_of, read_instance

PMLB_URL = "https://github.com/EpistasisLab/pmlb/raw/master/datasets"
SECONDS_TO_ANSWER = 30.0


class MissingData(StudyError):
    """The rows of an instance are not available; the message says why."""


class DataSource:
    """Looks for instances in a folder, then among the generated ones, then in the benchmarks' repository.

    Parameters
    ----------
    folder : Path, optional
        Has files ``<instance>.tsv.gz``, or is the folder ``datasets`` of a clone of the benchmarks.
    download : bool
        Whether to fetch files that are not there. The SHA-256 of every file is checked against the manifest.
    url : str
        Where the benchmarks' folder ``datasets`` is served.
    cache : Path, optional
        Where fetched files are kept; by default the user's cache folder.
    """

    def __init__(
        self, folder: Path | None = None, *, download: bool = True, url: str = PMLB_URL, cache: Path | None = None
    ) -> None:
        self.folder = folder
        self.download = download
        self.url = url
        self.cache = cache
        self._offline: str | None = None

    def load(self, name: str, n_classes: int = TWO_CLASSES) -> tuple[StudyData, str]:
        """The rows of an instance and where they come from; `MissingData` if they are not available.

        At most ``n_classes`` classes are kept apart, see `StudyData.of_targets`.
        """
        facts = facts_of(name)
        local = self._local_file(facts)
        if local is not None:
            return _read(name, local, n_classes), "local file"
        if name in GENERATED:
            return generate(name, n_classes), "generated"
        if not self.download:
            where = f"is not in the folder {self.folder}" if self.folder is not None else "is in no local folder"
            raise MissingData(f"{name}.tsv.gz {where}, and nothing is downloaded.")
        return _read(name, self._fetch(facts), n_classes), "PMLB"

    def _local_file(self, facts: InstanceFacts) -> Path | None:
        if self.folder is None:
            return None
        names = (f"{facts.name}.tsv.gz", f"{facts.pmlb_name}.tsv.gz", f"{facts.pmlb_name}/{facts.pmlb_name}.tsv.gz")
        return next((path for name in names if (path := self.folder / name).is_file()), None)

    def _fetch(self, facts: InstanceFacts) -> Path:
        try:
            import pooch
        except ModuleNotFoundError as error:
            raise MissingData("Downloads need pooch: run pip install pooch.") from error
        if self._offline is not None:
            raise MissingData(self._offline)
        pooch.get_logger().setLevel("ERROR")
        url = f"{self.url}/{facts.pmlb_name}/{facts.pmlb_name}.tsv.gz"
        try:
            return Path(
                pooch.retrieve(
                    url,
                    known_hash=f"sha256:{facts.sha256}",
                    fname=f"{facts.pmlb_name}.tsv.gz",
                    path=self.cache or pooch.os_cache("s2oct") / "pmlb",
                    downloader=pooch.HTTPDownloader(timeout=SECONDS_TO_ANSWER),
                )
            )
        except ValueError as error:
            raise MissingData(f"The file at {url} is not the one of the manifest: its SHA-256 differs.") from error
        except OSError as error:
            reason = f"{url} could not be fetched ({type(error).__name__})."
            if getattr(error, "response", None) is None:
                # No answer at all: every other file would wait as long and fail as well.
                self._offline = reason
            raise MissingData(reason) from error


def _read(name: str, path: Path, n_classes: int) -> StudyData:
    try:
        return read_instance(name, path, n_classes)
    except (OSError, EOFError, ValueError, IndexError, StopIteration, zlib.error) as error:
        raise MissingData(f"{path.name} cannot be read: {type(error).__name__}: {error}") from error
