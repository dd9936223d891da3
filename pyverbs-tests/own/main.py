# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""unittest's own main, as a file that record.py can run."""
import unittest

unittest.main(module=None)
