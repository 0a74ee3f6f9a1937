"""What `check` costs on a program of a million steps: steps, CPU time and the peak of memory."""
import _common

options = _common.parser(__doc__)
options.add_argument("cc", nargs="?", default="gcc-12")
options.add_argument("--opt", default="-O2")
args = options.parse_args()
_common.run(_common.example("check", "check_million"), args.cc, args.opt)
