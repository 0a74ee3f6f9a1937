//! Opcode numbers of LLVM's C interface, which never change.

/// `phi`.
pub const PHI: u8 = 44;
/// `call`.
pub const CALL: u8 = 45;
/// `invoke`.
pub const INVOKE: u8 = 5;
/// `callbr`.
pub const CALLBR: u8 = 67;
/// `alloca`.
pub const ALLOCA: u8 = 26;

/// `unreachable`.
pub const UNREACHABLE: u8 = 7;
/// `add`.
pub const ADD: u8 = 8;
/// `fadd`.
pub const FADD: u8 = 9;
/// `fsub`.
pub const FSUB: u8 = 11;
/// `fmul`.
pub const FMUL: u8 = 13;
/// `fdiv`.
pub const FDIV: u8 = 16;
/// `uitofp`.
pub const UITOFP: u8 = 35;
/// `sitofp`.
pub const SITOFP: u8 = 36;
/// `sub`.
pub const SUB: u8 = 10;
/// `mul`.
pub const MUL: u8 = 12;
/// `udiv`.
pub const UDIV: u8 = 14;
/// `sdiv`.
pub const SDIV: u8 = 15;
/// `urem`.
pub const UREM: u8 = 17;
/// `srem`.
pub const SREM: u8 = 18;
/// `shl`, the first of the operations on bits.
pub const SHL: u8 = 20;
/// `lshr`.
pub const LSHR: u8 = 21;
/// `ashr`.
pub const ASHR: u8 = 22;
/// `and`.
pub const AND: u8 = 23;
/// `or`.
pub const OR: u8 = 24;
/// `xor`, the last of the operations on bits.
pub const XOR: u8 = 25;
/// `getelementptr`.
pub const GETELEMENTPTR: u8 = 29;
/// `trunc`.
pub const TRUNC: u8 = 30;
/// `zext`.
pub const ZEXT: u8 = 31;
/// `sext`.
pub const SEXT: u8 = 32;
/// `ptrtoint`, the first of the casts that keep the bits.
pub const PTRTOINT: u8 = 39;
/// `bitcast`, the last of the casts that keep the bits.
pub const BITCAST: u8 = 41;
/// `addrspacecast`.
pub const ADDRSPACECAST: u8 = 60;
/// `icmp`.
pub const ICMP: u8 = 42;
/// `fcmp`.
pub const FCMP: u8 = 43;
/// `select`.
pub const SELECT: u8 = 46;
/// `br`.
pub const BR: u8 = 2;
/// `switch`.
pub const SWITCH: u8 = 3;
/// `load`.
pub const LOAD: u8 = 27;
/// `store`.
pub const STORE: u8 = 28;

/// Whether it calls something.
pub fn is_call(opcode: u8) -> bool {
    matches!(opcode, CALL | INVOKE | CALLBR)
}

/// Whether it gives one value in another type.
pub fn is_conversion(opcode: u8) -> bool {
    matches!(opcode, TRUNC..=BITCAST | ADDRSPACECAST)
}

/// The mnemonic.
pub fn name(opcode: u8) -> &'static str {
    const NAMES: [(u8, &str); 67] = [
        (1, "ret"),
        (2, "br"),
        (3, "switch"),
        (4, "indirectbr"),
        (5, "invoke"),
        (7, "unreachable"),
        (8, "add"),
        (9, "fadd"),
        (10, "sub"),
        (11, "fsub"),
        (12, "mul"),
        (13, "fmul"),
        (14, "udiv"),
        (15, "sdiv"),
        (16, "fdiv"),
        (17, "urem"),
        (18, "srem"),
        (19, "frem"),
        (20, "shl"),
        (21, "lshr"),
        (22, "ashr"),
        (23, "and"),
        (24, "or"),
        (25, "xor"),
        (26, "alloca"),
        (27, "load"),
        (28, "store"),
        (29, "getelementptr"),
        (30, "trunc"),
        (31, "zext"),
        (32, "sext"),
        (33, "fptoui"),
        (34, "fptosi"),
        (35, "uitofp"),
        (36, "sitofp"),
        (37, "fptrunc"),
        (38, "fpext"),
        (39, "ptrtoint"),
        (40, "inttoptr"),
        (41, "bitcast"),
        (42, "icmp"),
        (43, "fcmp"),
        (44, "phi"),
        (45, "call"),
        (46, "select"),
        (47, "userop1"),
        (48, "userop2"),
        (49, "va_arg"),
        (50, "extractelement"),
        (51, "insertelement"),
        (52, "shufflevector"),
        (53, "extractvalue"),
        (54, "insertvalue"),
        (55, "fence"),
        (56, "cmpxchg"),
        (57, "atomicrmw"),
        (58, "resume"),
        (59, "landingpad"),
        (60, "addrspacecast"),
        (61, "cleanupret"),
        (62, "catchret"),
        (63, "catchpad"),
        (64, "cleanuppad"),
        (65, "catchswitch"),
        (66, "fneg"),
        (67, "callbr"),
        (68, "freeze"),
    ];
    NAMES.iter().find(|(number, _)| *number == opcode).map_or("instruction", |(_, name)| name)
}
