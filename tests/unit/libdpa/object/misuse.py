#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Prints the calls of test_misuse.c: each host function of libdpa/include once for each of its parameters that is an
object, with that one free and all others as they should be; and the errors that docs/doca-api.list allows it.

  misuse.py > misuse.inc
"""
import importlib.machinery
import importlib.util
import os
import re

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.normpath(os.path.join(HERE, "..", "..", "..", ".."))
LIST = os.path.join(TOP, "docs", "doca-api.list")
NOT_OBJECTS = {"doca_dpa_app", "doca_pcc_app", "doca_log_backend"}  # a program's variables; of no table
# A parameter that may be NULL: of the function, from 0 on.
OPTIONAL = {
    "doca_dev_close": {0},
    "doca_dpa_kernel_launch_update_set": {1, 3},
    "doca_dpa_kernel_launch_update_add": {1, 3},
    "doca_dpa_notification_completion_create": {1},
}
# A parameter that the call destroys when it fails.
CONSUMED = {"doca_argp_cmd_register_cmd": 1, "doca_argp_cmd_register_param": 1, "doca_argp_register_param": 0,
            "doca_argp_register_cmd": 0}
# Setters of fields: what they are given is looked at when it is used.
FIELD = re.compile(r"doca_(?:rdma|dma|sync_event|mmap_advise)_task_\w+_(?:allocate|alloc)_init$")


def parser():
    """test_prototypes, which reads declarations."""
    path = os.path.join(TOP, "tests", "integration", "docs", "test_prototypes")
    loader = importlib.machinery.SourceFileLoader("test_prototypes", path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("test_prototypes", loader))
    loader.exec_module(module)
    return module


def documented():
    """Function -> names of errors that it may return."""
    out = {}
    with open(LIST, encoding="utf-8") as f:
        for line in f:
            if not line.startswith("#") and line.strip():
                name, _, _, errors, difference = [c.strip() for c in line.split("|", 4)]
                out[name] = sorted(set(errors.split()) | set(re.findall(r"\b[A-Z]+_[A-Z_]*[A-Z]\b", difference)))
    return out


def outer(text):
    """Parameters, split at commas that are in no brackets."""
    parts, depth, word = [], 0, ""
    for c in text:
        depth += {"(": 1, ")": -1}.get(c, 0)
        if c == "," and not depth:
            parts.append(word.strip())
            word = ""
        else:
            word += c
    return parts + [word.strip()]


class Printer:
    def __init__(self):
        facts = parser().facts_of(os.path.join(TOP, "libdpa", "include"))
        self.errors = documented()
        self.headers = sorted({h for h, _ in facts.values()})
        self.shown = {m[1] for (_, k, n) in facts if k == "field" and (m := re.match(r"struct (\w+)\.", n))}
        self.enums = {n for (_, k, n) in facts if k == "type"}
        self.functions = {n: text for (device, k, n), (h, text) in sorted(facts.items())
                          if k == "function" and not device and not h.startswith(("doca_pcc_dev", "doca_pcc_np"))}
        self.known = {n for (_, k, n) in facts if k == "constant" and n.startswith("DOCA_ERROR_")}

    def object_of(self, kind):
        """The type of an object that a parameter is, or None."""
        m = re.fullmatch(r"(?:const )?struct (doca_\w+)(?: const)? \*(?: const)?", kind)
        return m[1] if m and m[1] not in self.shown | NOT_OBJECTS else None

    def value(self, kind):
        """Of a parameter that is none."""
        own = self.object_of(kind)
        if own:
            return f"live(\"{own}\")"
        if re.match(r"(?:const )?struct (?:ibv_|rdma_cm)", kind) or "(*)" in kind:
            return f"({kind})0" if "(*)" in kind else "NULL"
        if kind.endswith("*") or kind.endswith("]"):
            return "(void *)scratch"
        if kind.startswith(("union", "struct")):
            return f"({kind}){{0}}"
        return f"({kind})1"

    def call(self, name, kinds, at):
        args = []
        for i, kind in enumerate(kinds):
            if i == at:
                args.append("bad")
            elif kind == "...":
                continue
            elif kind.endswith("_fn") or kind.endswith("_cb_t") or kind.endswith("_t") and "callback" in kind:
                args.append("(void *)nothing")
            elif CONSUMED.get(name) == i:
                args.append(f"misuse_fresh(\"{self.object_of(kind)}\")")
            else:
                args.append(self.value(kind))
        return f"{name}({', '.join(args)})"

    def rows(self):
        for name, text in self.functions.items():
            result, inside = re.fullmatch(r"(.*?) ?\((.*)\)", text).groups()
            kinds = outer(inside)
            for at, kind in enumerate(kinds):
                own = self.object_of(kind)
                if own:
                    yield name, result, at, own, self.call(name, kinds, at)

    def main(self):
        rows = list(self.rows())
        print("/* Made by misuse.py. */")
        for n, (_, result, _, _, call) in enumerate(rows):
            body = f"{call};\n\treturn 0" if result == "void" else \
                f"return (intptr_t){call}" if result.endswith("*") or not result.startswith(("union", "struct")) else \
                f"(void){call};\n\treturn 0"
            print(f"static intptr_t call_{n}(void *bad)\n{{\n\t{body};\n}}")
        print("static const struct row rows[] = {")
        for n, (name, result, at, own, _) in enumerate(rows):
            kind = "ERROR" if result == "doca_error_t" else "POINTER" if result.endswith("*") else "OTHER"
            null = at in OPTIONAL.get(name, ()) or (FIELD.match(name) and at > 0)
            allowed = " | ".join(f"BIT(DOCA_ERROR_{e})" for e in self.errors.get(name, [])
                                 if "DOCA_ERROR_" + e in self.known) or "0"
            field = bool(FIELD.match(name)) and own not in ("doca_rdma", "doca_dma", "doca_sync_event", "doca_mmap_advise",
                                                            "doca_rdma_connection")
            print(f"\t{{\"{name}\", {at}, \"{own}\", {kind}, {str(bool(null)).lower()}, {str(field).lower()}, {allowed}, "
                  f"call_{n}}},")
        print("};")


if __name__ == "__main__":
    Printer().main()
