//! Which printed registers share their bits: `$al`, `$ax` and `$eax` are parts of `$rax`.

/// The whole register that a printed one is part of; virtual registers and those of other targets are their own.
pub fn whole(register: &str) -> String {
    let Some(name) = register.strip_prefix('$') else {
        return register.split('.').next().unwrap_or(register).to_owned();
    };
    const NAMED: [(&str, [&str; 5]); 8] = [
        ("rax", ["rax", "eax", "ax", "al", "ah"]),
        ("rbx", ["rbx", "ebx", "bx", "bl", "bh"]),
        ("rcx", ["rcx", "ecx", "cx", "cl", "ch"]),
        ("rdx", ["rdx", "edx", "dx", "dl", "dh"]),
        ("rsi", ["rsi", "esi", "si", "sil", "sih"]),
        ("rdi", ["rdi", "edi", "di", "dil", "dih"]),
        ("rbp", ["rbp", "ebp", "bp", "bpl", "bph"]),
        ("rsp", ["rsp", "esp", "sp", "spl", "sph"]),
    ];
    if let Some((wide, _)) =
        NAMED.iter().find(|(_, parts)| parts.contains(&name) || parts.iter().any(|p| name.strip_prefix('h') == Some(p)))
    {
        return format!("${wide}");
    }
    let digits = name.trim_start_matches(|c: char| c.is_ascii_alphabetic());
    let number: String = digits.chars().take_while(char::is_ascii_digit).collect();
    match name {
        _ if name.starts_with('r') && !number.is_empty() && digits.len() <= number.len() + 2 => format!("$r{number}"),
        _ if ["xmm", "ymm", "zmm"].iter().any(|p| name.starts_with(p)) && !number.is_empty() => format!("$xmm{number}"),
        _ => format!("${name}"),
    }
}

/// Whether a call of the usual convention keeps a whole register.
pub fn survives_calls(whole: &str) -> bool {
    whole.starts_with('%') || ["$rbx", "$rbp", "$rsp", "$r12", "$r13", "$r14", "$r15"].contains(&whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_register_are_one_register() {
        for (part, all) in [("$al", "$rax"), ("$esi", "$rsi"), ("$r12d", "$r12"), ("$r9b", "$r9"), ("$ymm3", "$xmm3"), ("$hbx", "$rbx")] {
            assert_eq!(whole(part), all);
        }
        assert_eq!(whole("%12.sub_32bit"), "%12");
        assert_eq!(whole("$eflags"), "$eflags");
        assert_ne!(whole("$r1"), whole("$r10"));
    }
}
