"""What `check` reports on csmith programs, by invariant, compiler and level; programs with reports are kept for judging."""
import os

import _common

options = _common.parser(__doc__)
options.add_argument("dir", help="for the programs that have reports")
options.add_argument("--seeds", default="1..101")
args = options.parse_args()
os.makedirs(args.dir, exist_ok=True)
_common.run(_common.example("check", "survey"), args.dir, "--seeds", args.seeds)
