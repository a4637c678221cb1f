"""The container's files without a container engine: its steps, its command with nothing to write, and its proxy."""

from __future__ import annotations

import fnmatch
import json
import os
import re
import shlex
import shutil
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import yaml
from helpers.present import present
from helpers.studies import ROOT, absent
from stack import FILES

from bench.server import Server, free_port, is_healthy, wait_until

pytestmark = pytest.mark.deploy
DOCKERFILE = (FILES / "triptych.Dockerfile").read_text()
BUILD, FINAL = (stage for stage in re.split(r"^FROM .+$", DOCKERFILE, flags=re.MULTILINE)[1:])
USER = 10001
SYSTEM = "/usr/local/bin:/usr/bin:/bin"  # a Python that every user may run
# the file system is read-only but for two folders, and the user can gain no rights
CONFINED = """
mount --bind "$DATA" "$DATA" && mount --bind "$TMPDIR" "$TMPDIR" && mount -o remount,ro,bind /
! touch /opt/probe "$ENVIRONMENT/probe" 2>/dev/null || exit 99
exec setpriv --reuid $USER_ID --regid $USER_ID --clear-groups --bounding-set=-all --no-new-privs "$@"
"""


def context() -> list[str]:
    """The repository's files that the build is sent, by the file of exceptions next to the Dockerfile."""
    lines = (FILES / "triptych.Dockerfile.dockerignore").read_text().splitlines()
    allowed = [line[1:] for line in lines if line.startswith("!")]
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    return [
        name
        for name in listed
        if any(name.startswith(f"{rule}/") or fnmatch.fnmatchcase(name, rule) for rule in allowed)
        and (ROOT / name).is_file()
        and "node_modules" not in name
    ]


def instruction(stage: str, name: str) -> str:
    return present(re.search(rf"^{name} (.+)$", stage, re.MULTILINE))[1]


@dataclass
class Image:
    """What the first stage makes, and the folders that are written to."""

    environment: Path
    data: Path
    temporary: Path

    def variables(self, **more: str) -> dict[str, str]:
        own = dict(pair.split("=", 1) for pair in shlex.split(instruction(FINAL, "ENV")))
        places = {
            "PATH": f"{self.environment / 'bin'}:{os.environ['PATH']}",
            "TRIPTYCH_HOME": str(self.data),
            "HOME": str(self.data),
        }
        inner = {"DATA": str(self.data), "TMPDIR": str(self.temporary), "ENVIRONMENT": str(self.environment)}
        return {**own, **places, **inner, "MPLCONFIGDIR": str(self.temporary), "USER_ID": str(USER), **more}


@pytest.fixture(scope="module")
def image() -> Iterator[Image]:
    if os.geteuid() or shutil.which("unshare") is None:
        absent("root with unshare and setpriv")
    with TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        source, environment = folder / "src", folder / "env"
        for file in context():
            (source / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / file, source / file)
        for step in re.findall(r"^RUN (.+)$", BUILD, re.MULTILINE):
            command = shlex.split(step.replace("/opt/triptych", str(environment)))
            subprocess.run(command, cwd=source, env={**os.environ, "PATH": SYSTEM}, check=True, capture_output=True)
        image = Image(environment, folder / "data", folder / "tmp")
        for place in (image.data, image.temporary):
            place.mkdir(mode=0o700)
            shutil.chown(place, USER, USER)
        yield image


@pytest.fixture(scope="module")
def server(image: Image) -> Iterator[Server]:
    port, log = free_port(), image.data.with_name("server.log")
    words = json.loads(instruction(FINAL, "CMD"))
    command = ["unshare", "--mount", "sh", "-ec", CONFINED, "sh", *words[:-1], str(port)]
    with log.open("wb") as file:
        process = subprocess.Popen(command, cwd="/", env=image.variables(), stdout=file, stderr=file)
    started = Server(f"http://127.0.0.1:{port}", process, log)
    try:
        wait_until(lambda: is_healthy(started.url, "/readyz"), started, "be ready")
        yield started
    finally:
        started.stop()


def test_the_image_runs_unprivileged_on_a_read_only_disk(image: Image, server: Server):
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    assert re.search(rf"^Uid:\t{USER}\t{USER}", status, re.MULTILINE)
    assert re.search(r"^CapEff:\t0+$", status, re.MULTILINE)
    with urllib.request.urlopen(server.url, timeout=60) as answer:
        assert (answer.status, b"<title>Streamlit" in answer.read()) == (200, True)
    files = [path for path in image.data.rglob("*") if path.is_file()]
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}
    assert "Read-only file system" not in server.output()


def test_the_health_check_fails_where_nothing_answers(image: Image, server: Server):
    check = json.loads(instruction(FINAL, "HEALTHCHECK").partition("CMD ")[2])
    for port, code in ((server.url.rpartition(":")[2], 0), (str(free_port()), 1)):
        command = [word.replace("8501", port) for word in check]
        assert subprocess.run(command, env=image.variables(), capture_output=True).returncode == code


def services() -> dict[str, Any]:
    return dict(yaml.safe_load((FILES / "compose.yaml").read_text())["services"])


def test_compose_names_files_that_are_there():
    for service in services().values():
        for volume in service.get("volumes", ()):
            assert not volume.startswith("./") or (FILES / volume.partition(":")[0]).is_file(), volume
        if "build" in service:
            root = (FILES / service["build"]["context"]).resolve()
            assert (root, (root / service["build"]["dockerfile"]).is_file()) == (ROOT, True)


def test_the_composed_app_is_hardened_and_trusts_its_proxy_alone():
    parts = services()
    app, proxy = parts["app"], parts["proxy"]
    assert (app["read_only"], app["cap_drop"], "ports" in app) == (True, ["ALL"], False)
    assert app["environment"]["TRIPTYCH_PROXIES"] == proxy["networks"]["front"]["ipv4_address"]
    assert "triptych_app:" in app["environment"]["TRIPTYCH_DATABASE_URL"]
    for name in ("TRIPTYCH_SECRET", "OWNER_PASSWORD", "APP_PASSWORD", "ADMIN_PASSWORD", "SITE"):
        assert f"${{{name}:?" in (FILES / "compose.yaml").read_text()


@contextmanager
def composed_proxy(folder: Path, upstream: str) -> Iterator[Server]:
    """Caddy with the shipped file, before this address."""
    if shutil.which("caddy") is None:
        absent("caddy")
    site = f"http://127.0.0.1:{free_port()}"
    where = {"SITE": site, "UPSTREAM": upstream, "XDG_DATA_HOME": str(folder)}
    config = folder / "Caddyfile"
    config.write_text((FILES / "proxy.Caddyfile").read_text().replace("\n{\n", "\n{\n\tadmin off\n", 1))
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            ["caddy", "run", "--config", config, "--adapter", "caddyfile"],
            env={**os.environ, **where},
            stdout=log,
            stderr=log,
        )
    proxy = Server(site, process, folder / "log")
    try:
        wait_until(lambda: "serving initial configuration" in proxy.output(), proxy, "start")
        yield proxy
    finally:
        with suppress(ProcessLookupError):
            proxy.stop()


def test_the_composed_proxy_passes_pages_and_closes_the_rest(server: Server, tmp_path: Path):
    with composed_proxy(tmp_path, server.url.removeprefix("http://")) as proxy:
        with urllib.request.urlopen(proxy.url, timeout=60) as answer:
            assert b"<title>Streamlit" in answer.read()
            assert answer.headers["Strict-Transport-Security"] == "max-age=31536000"
        for path in ("/metrics", "/readyz", "/readyz%0a", "/_stcore/metrics"):
            with pytest.raises(urllib.error.HTTPError, match="404"):
                urllib.request.urlopen(f"{proxy.url}{path}", timeout=60)


def test_the_composed_proxy_logs_no_personal_link(tmp_path: Path):
    """While the app started again, each request was logged as an error, with its address."""
    with composed_proxy(tmp_path, f"127.0.0.1:{free_port()}") as proxy:
        with pytest.raises(urllib.error.HTTPError, match="502"):
            urllib.request.urlopen(f"{proxy.url}/annotate?link=personal-secret", timeout=60)
        wait_until(lambda: "http.log.error" in proxy.output(), proxy, "log the error")
        assert "personal-secret" not in proxy.output()
