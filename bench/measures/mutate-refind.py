"""The whole loop of mutation: seeds, ten variants each, several compilers and levels; programs tested per core-hour.

Crashes, hangs and wrong code come out with the minimal set of insertions they need.
"""
import _common

options = _common.parser(__doc__)
options.add_argument("--generator", default="csmith-default")
options.add_argument("--first", default="1")
options.add_argument("--seeds", default="20")
options.add_argument("--cc", default="gcc-11,gcc-12,clang-13,clang-14,clang-16")
options.add_argument("--levels", default="-O2,-O3")
options.add_argument("--out", default="target/mutate-findings")
args = options.parse_args()
equivalence = _common.example("mutate", "equivalence")
_common.run(equivalence, args.generator, args.first, args.seeds, "10", args.cc, args.levels, args.out)
