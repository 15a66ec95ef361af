import resource
import subprocess
import sys

import pytest

from s2oct import memory
from s2oct.errors import ModelTooLarge
from s2oct.memory import available_memory, require_memory


def test_memory_that_is_there_is_granted():
    assert available_memory() > 2**20
    require_memory(2**20, "The model")


def test_memory_that_is_not_there_is_refused_with_a_remedy(monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 2.0**30)
    with pytest.raises(ModelTooLarge, match=r"The model needs about 3\.0 GiB and 1\.0 GiB are .* solver=None"):
        require_memory(3 * 2**30, "The model")


def test_an_error_about_memory_is_a_memory_error():
    assert issubclass(ModelTooLarge, MemoryError)


@pytest.mark.skipif(not hasattr(resource, "RLIMIT_AS"), reason="this system has no limit on the address space")
def test_the_limit_on_the_address_space_counts():
    """ulimit -v is how shared machines and containers say how much there is."""
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (2**32, 2**32));"
        "from s2oct.memory import available_memory; print(available_memory() < 2**32)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "True"
