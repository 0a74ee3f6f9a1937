"""gdb's values in the canonical text that engine.rs describes."""
import gdb
from shared import float_text


def render(value, type_, budget):
    """Canonical text of a value; `?` stands for a part without location."""
    budget[0] -= 1
    if budget[0] < 0:
        return "..."
    code = type_.code
    if code in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION):
        variant = active_variant(value, type_)
        if variant is not None:
            return variant.name + render(value[variant], variant.type.strip_typedefs(), budget)
        parts = []
        for field in type_.fields():
            if not hasattr(field, "bitpos") or getattr(field, "artificial", False):
                continue
            parts.append(render(value[field], field.type.strip_typedefs(), budget))
            if budget[0] < 0:
                break
        return "{" + ", ".join(parts) + "}"
    if code == gdb.TYPE_CODE_ARRAY:
        low, high = type_.range()
        element = type_.target().strip_typedefs()
        parts = []
        for index in range(low, high + 1):
            parts.append(render(value[index], element, budget))
            if budget[0] < 0:
                break
        return "{" + ", ".join(parts) + "}"
    if value.is_optimized_out:
        budget[1] = True
        if code in POINTERS and "synthetic" in value.format_string():
            return "(synthetic pointer)"
        return "?"
    budget[2] = True
    if code in POINTERS:
        number = int(value.cast(UNSIGNED))
        # A pointer to something that has no memory reads as zero.
        if number == 0 and "synthetic" in value.format_string():
            return "(synthetic pointer)"
        return hex(number)
    if code == gdb.TYPE_CODE_FLT:
        return float_text(float(value), type_.sizeof)
    if code in (gdb.TYPE_CODE_COMPLEX, getattr(gdb, "TYPE_CODE_DECFLOAT", -1)):
        return value.format_string()
    # Python's numbers are made of at most eight bytes of gdb's.
    return str(int(value)) if type_.sizeof <= 8 else value.format_string(format="d")


def active_variant(value, type_):
    """The one field that is left of a Rust enum once gdb has looked at its discriminant; None for anything else."""
    if not getattr(type_, "dynamic", False):
        return None
    real = lambda fields: [f for f in fields if hasattr(f, "bitpos") and not getattr(f, "artificial", False)]
    left = real(value.type.strip_typedefs().fields())
    return left[0] if len(left) == 1 < len(real(type_.fields())) else None


POINTERS = tuple(
    getattr(gdb, name)
    for name in ("TYPE_CODE_PTR", "TYPE_CODE_REF", "TYPE_CODE_RVALUE_REF", "TYPE_CODE_FUNC", "TYPE_CODE_METHODPTR")
    if hasattr(gdb, name)
)


UNSIGNED = None  # the type that pointers are read as, known once gdb runs


def prepare():
    """Before the first value is rendered."""
    global UNSIGNED
    if UNSIGNED is None:
        gdb.execute("set language c", to_string=True)
        UNSIGNED = gdb.parse_and_eval("(unsigned long)0").type
        gdb.execute("set language auto", to_string=True)
