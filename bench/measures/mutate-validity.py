"""Validity and cost of mutation: 200 csmith seeds and 200 weave seeds with five variants each.

Every variant must compile and print its seed's output at gcc -O0 and clang -O0. Sanitizers run on the last variant of each
seed, which has the insertions of the four before it (--sanitize all runs them on every one). --options hunt takes the options
of hunts instead of the defaults. About 15 CPU-minutes, 40 with all.
"""
import _common

options = _common.parser(__doc__)
options.add_argument("--first", default="1000")
options.add_argument("--seeds", default="200")
options.add_argument("--sanitize", choices=("last", "all"), default="last")
options.add_argument("--options", choices=("", "hunt"), default="")
options.add_argument("--failed", default="target/mutate-failed")
args = options.parse_args()
validity = _common.example("mutate", "validity")
for generator in ("weave", "csmith"):
    print("==", generator, flush=True)
    _common.run(validity, generator, args.first, args.seeds, "5", args.sanitize, args.failed, args.options)
