#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Carries out the recipes of docs/ci, from the files themselves, in a root with a Debian in it.

  recipe.py dockerfile FILE ROOT CONTEXT   FROM, COPY, RUN and CMD as docker build and run would
  recipe.py gitlab FILE JOB                the script of a job, on the standard output
  recipe.py github FILE JOB                the `run` steps of a job, likewise
What it does not know is an error: nothing of a recipe is passed over.
"""
import glob
import json
import os
import shutil
import subprocess
import sys

ENV = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root"}
IMAGES = {"debian:12-slim", "debian:12"}


def instructions(path):
    with open(path, encoding="utf-8") as f:
        text = "".join(line for line in f if not line.lstrip().startswith("#"))
    for line in text.replace("\\\n", " ").splitlines():
        if line.strip():
            yield line.strip().split(None, 1)


def inside(root, argv):
    print("+", " ".join(argv), flush=True)
    subprocess.run(["chroot", root, *argv], check=True, stdin=subprocess.DEVNULL, env=ENV)


def copy(root, context, words):
    """COPY SOURCE... FOLDER/: as docker, no match is an error."""
    *sources, to = words.split()
    for pattern in sources:
        found = glob.glob(os.path.join(context, pattern))
        if not found or not to.endswith("/"):
            sys.exit(f"COPY {words}: nothing in {context}, or no folder to copy to")
        os.makedirs(root + to, exist_ok=True)
        for f in found:
            shutil.copy(f, root + to)


def dockerfile(path, root, context):
    done = []
    for what, words in instructions(path):
        done.append(what)
        if what == "FROM" and words in IMAGES:
            continue
        if what == "COPY":
            copy(root, context, words)
        elif what == "RUN":
            inside(root, ["/bin/sh", "-c", words])
        elif what == "CMD":
            inside(root, json.loads(words))
        else:
            sys.exit(f"{path}: '{what} {words}': not tried here")
    if done[0] != "FROM" or done[-1] != "CMD" or "RUN" not in done:
        sys.exit(f"{path}: no FROM, RUN and CMD in {done}")


def load(path):
    import yaml
    with open(path, encoding="utf-8") as f:
        return yaml.safe_load(f)


def gitlab(path, job):
    j = load(path)[job]
    if j["image"] not in IMAGES or set(j) - {"image", "script", "before_script"}:
        sys.exit(f"{path}: {job} has what is not tried here: {sorted(j)}")
    return list(j.get("before_script", [])) + list(j["script"])


def github(path, job):
    doc = load(path)
    j = doc["jobs"][job]
    lines = []
    if True not in doc and "on" not in doc:  # YAML 1.1 has a truth value of that name
        sys.exit(f"{path}: no 'on'")
    if set(j) != {"runs-on", "container", "steps"} or j["container"] not in IMAGES:
        sys.exit(f"{path}: {job} has what is not tried here: {sorted(j)}")
    for step in j["steps"]:
        if set(step) <= {"uses"} and step["uses"].startswith("actions/checkout@"):
            continue
        if "run" not in step or set(step) - {"name", "run"}:
            sys.exit(f"{path}: a step that is not tried here: {step}")
        lines.append(step["run"])
    return lines


def main():
    what, args = sys.argv[1], sys.argv[2:]
    if what == "dockerfile":
        dockerfile(*args)
    elif what in ("gitlab", "github"):
        lines = (gitlab if what == "gitlab" else github)(*args)
        if not lines or not all(isinstance(x, str) for x in lines):
            sys.exit(f"{args[0]}: no commands")
        print("\n".join(lines))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
