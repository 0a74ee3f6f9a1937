# The smallest suite around lit.local.cfg, so that this directory runs by itself: lit -v examples/lit
import os
import tempfile

import lit.formats

config.name = "debug locations"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".ll"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(tempfile.gettempdir(), "trueline-lit")
config.environment["PATH"] = os.environ["PATH"]
# LLVM's own suite has this substitution for its freshly built tools.
config.substitutions.append((r"(?<![-./\w])opt(?= +-)", lit_config.params.get("opt", "opt")))
