"""Releases of Debian in folders of their own, with what the cells need from them.

A command runs in one by chroot, within a mount namespace of its own: what is mounted for it ends with it, and nobody
who deletes the folder reaches the machine's devices through it.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import ssl
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.matrix import mirror
from tests.servers import debian
from tests.servers.order import Unavailable

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "var" / "matrix"
ALWAYS = ("ca-certificates", "git", "procps", "prometheus", "python3", "python3-venv")
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
PATIENCE = 1200  # seconds for one step: RabbitMQ brings Erlang along
SETTINGS = """\
# A mirror may be behind, and nothing but tests runs here. Signatures are checked as ever.
Acquire::Check-Valid-Until "false";
APT::Install-Recommends "false";
Dpkg::Options { "--force-unsafe-io"; };
"""
ENTER = """\
mount --make-rprivate /
mount --types proc proc "$1/proc"
mount --rbind /dev "$1/dev"
mount --types tmpfs --options mode=1777 tmpfs "$1/tmp"
mount --types tmpfs tmpfs "$1/run"
mkdir -m 1777 "$1/run/lock"
mkdir -p "$1$2"
mount --bind "$2" "$1$2"
cp /etc/resolv.conf /etc/hosts "$1/etc/"
root=$1 project=$2
shift 2
exec chroot "$root" sh -c 'cd "$0" && exec "$@"' "$project" "$@"
"""


def check_machine() -> None:
    """Raise `Unavailable` where no release can be made."""
    if sys.platform != "linux" or os.geteuid() != 0:
        raise Unavailable("releases of Debian are made with debootstrap and chroot", "run it as root, on Linux")
    if shutil.which("debootstrap") is None:
        print("Installing debootstrap ...", flush=True)
        debian.install_package("debootstrap")


@dataclass(frozen=True)
class Root:
    """One release, for as long as its folder is kept."""

    suite: str
    folder: Path

    def command(self, words: Sequence[str]) -> list[str]:
        return ["unshare", "--mount", "sh", "-ec", ENTER, "enter", str(self.folder), str(ROOT), *words]

    def environment(self, base: Mapping[str, str]) -> dict[str, str]:
        """What a command in there gets: nothing that names the servers or the certificates of this machine."""
        kept = {name: value for name, value in base.items() if name.lower().endswith("_proxy") or name == "CI"}
        kept |= {name: value for name, value in base.items() if name in ("PIP_INDEX_URL", "PIP_DEFAULT_TIMEOUT")}
        own = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LANG": "C.UTF-8"}
        certificates = {"PIP_CERT": str(CERTIFICATES), "SSL_CERT_FILE": str(CERTIFICATES)}
        return {
            **kept,
            **own,
            **certificates,
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "DEBIAN_FRONTEND": "noninteractive",
        }

    def python(self, requirements: Sequence[str]) -> str:
        """The interpreter of a virtual environment with our lock and, over it, these; made if it is not there yet."""
        lock = (ROOT / "requirements-dev.txt").read_bytes() + repr(sorted(requirements)).encode()
        home = f"/opt/venv-{hashlib.sha256(lock).hexdigest()[:12]}"
        done = self.folder / home[1:] / "complete"
        if not done.exists():
            shutil.rmtree(done.parent, ignore_errors=True)
            pip = [f"{home}/bin/pip", "install", "--quiet"]
            self._do(["python3", "-m", "venv", home])
            self._do([*pip, "-r", str(ROOT / "requirements-dev.txt")])
            if requirements:
                self._do([*pip, *requirements])
            done.touch()
        return f"{home}/bin/python"

    def _do(self, words: Sequence[str]) -> None:
        run(self.command(words), self.environment(os.environ))


def prepared(suite: str, packages: Sequence[str], folder: Path = FOLDER) -> Root:
    """The release with these packages, from the last time or made now."""
    root = Root(suite, folder / suite)
    if not root.folder.exists():
        _bootstrap(root)
    wanted = "\n".join([*ALWAYS, *packages])
    done = root.folder / "installed"
    if not done.exists() or done.read_text() != wanted:
        root._do(["apt-get", "update", "--quiet=2"])
        root._do(["apt-get", "install", "--yes", "--quiet=2", *wanted.split()])
        if (own := ssl.get_default_verify_paths().cafile or CERTIFICATES) and Path(own).exists():
            shutil.copyfile(own, root.folder / CERTIFICATES.relative_to("/"))  # the machine's may know a proxy's
        done.write_text(wanted)
    return root


def _bootstrap(root: Root) -> None:
    print(f"Fetching Debian {root.suite} ...", flush=True)
    partial = root.folder.with_name(f"{root.suite}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.parent.mkdir(parents=True, exist_ok=True)
    # In a namespace too: debootstrap mounts /proc.
    run(
        ["unshare", "--mount", "debootstrap", "--variant=minbase", root.suite, str(partial), mirror.found()], os.environ
    )
    (partial / "etc/apt/apt.conf.d/90matrix").write_text(SETTINGS)
    policy = partial / "usr/sbin/policy-rc.d"
    policy.write_text("#!/bin/sh\nexit 101\n")  # packages start nothing
    policy.chmod(0o755)
    partial.rename(root.folder)


def run(words: Sequence[str], environment: Mapping[str, str]) -> None:
    """Run a step to its end, or raise `Unavailable` with its last lines."""
    done = subprocess.run(
        words,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        timeout=PATIENCE,
    )
    if done.returncode:
        named = " ".join(word for word in words[-4:] if "\n" not in word)
        raise Unavailable(f"`{named}` failed: {' / '.join(done.stdout.strip().splitlines()[-3:])}")
