"""Rewrites a large binary without edits and prints how long it took: any ELF file with DWARF, a debug build of this for one."""
import _common

options = _common.parser(__doc__)
options.add_argument("binary")
args = options.parse_args()
_common.run(_common.example("repair", "rewrite_large"), args.binary)
