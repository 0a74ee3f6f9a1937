//! The scalars of a value's canonical text, in order.
//!
//! Aggregates are compared scalar by scalar: an optimized build may store the members of a structure in
//! another order, and then the whole shows combinations that never were while each member is right.

/// The scalars of `text`: `{1, {2, 3}}` gives 1, 2, 3.
pub fn split(text: &str) -> impl Iterator<Item = &str> {
    text.split(['{', '}', ',']).map(str::trim).filter(|t| !t.is_empty())
}

/// True for a text that stands for no value: a part without location, or the tail that was left out.
pub fn is_gap(leaf: &str) -> bool {
    leaf == "?" || leaf == "..."
}

/// True for the text of a floating-point number.
pub fn is_float(leaf: &str) -> bool {
    leaf.contains('.') || leaf.contains("inf") || leaf.contains("NaN") || (leaf.contains('e') && !leaf.starts_with("0x"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_aggregates_flatten_in_order() {
        assert_eq!(split("{1, {-2, 0.5}, {{?}}}").collect::<Vec<_>>(), ["1", "-2", "0.5", "?"]);
        assert_eq!(split("42").collect::<Vec<_>>(), ["42"]);
    }

    #[test]
    fn floats_are_told_from_integers_and_addresses() {
        assert!(is_float("1.0") && is_float("1e16") && is_float("-inf") && is_float("NaN"));
        assert!(!is_float("17") && !is_float("0x7ffe"));
    }
}
