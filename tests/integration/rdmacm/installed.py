# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Programs that see dpa0 because the packages are installed: no dpa-run, no build folder."""
import os
import shlex
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "wire"))

import netns  # noqa: E402

SHELLS = {"login": ["bash", "-l"], "bare": ["sh"]}


def script(env):
    """Shell commands that set the variables of `env` and become the program.

    A login shell may have put the preload into LD_PRELOAD: a library of the program's own goes before it.
    """
    sets = [f'export {name}={shlex.quote(value)}' +
            ('"${LD_PRELOAD:+:$LD_PRELOAD}"' if name == "LD_PRELOAD" else "")
            for name, value in env.items()]
    return "; ".join([*sets, 'exec "$@"'])


class InstalledRunner(netns.NsRunner):
    """Starts programs by a shell of a user. `shell`: 'login' reads the profile, 'bare' has no variables."""

    def __init__(self, host, shell, user=None):
        super().__init__("/usr", host)
        self.shell, self.user = SHELLS[shell], user

    def command(self, argv):
        home = os.path.expanduser("~" + (self.user or "root"))
        user = ["setpriv", f"--reuid={self.user}", f"--regid={self.user}", "--init-groups",
                "--no-new-privs", "--inh-caps=-all", "--bounding-set=-all"] if self.user else []
        clean = ["env", "-i", f"HOME={home}", "PATH=" + os.environ["PATH"], "LC_ALL=C.UTF-8"]
        return self.host.enter([*user, *clean, *argv])

    def start(self, argv, env=None, session=False):
        return super().start([*self.shell, "-c", script(env or {}), "-", *argv], session=session)
