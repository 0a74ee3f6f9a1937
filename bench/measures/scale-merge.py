"""Merges a million synthetic units in 64 shards into one database and prints the cost of each shard."""
import _common

options = _common.parser(__doc__)
options.add_argument("--units", default="1000000")
options.add_argument("--shards", default="64")
options.add_argument("--out", default="target/merge-scale")
args = options.parse_args()
_common.run(_common.example("store", "merge_scale"), args.out, args.units, args.shards)
