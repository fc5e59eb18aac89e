"""Runs a command that dies with the process which started it, under another account if asked.

    python leash.py SIGNAL PARENT UID GID COMMAND ...        (UID and GID are - to stay who we are)

A program of its own because this must happen in the child, between fork and exec, where running
Python code inside a process that has threads can deadlock. It replaces itself by the command, which
so keeps the process id. It imports nothing of ours, and needs no third-party package.
"""

import ctypes
import os
import sys

PR_SET_PDEATHSIG = 1  # <linux/prctl.h>


def main(number: str, parent: str, uid: str, gid: str, *command: str) -> None:
    if uid != "-":
        os.setgroups([])
        os.setgid(int(gid))
        os.setuid(int(uid))
    if sys.platform == "linux":
        # After the change of account, which makes the kernel forget it.
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(number))
        if os.getppid() != int(parent):
            sys.exit("The run ended before this server started.")  # and so no signal will come
    try:
        os.execvp(command[0], command)
    except OSError as error:
        sys.exit(f"Cannot run {command[0]}: {error.strerror}.")


if __name__ == "__main__":
    main(*sys.argv[1:])
