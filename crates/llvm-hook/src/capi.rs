//! The part of LLVM's C interface that we read IR with. Nothing here creates or changes IR: functions
//! that make metadata wrappers are left out on purpose, since they would alter the output.

use std::ffi::{CString, c_char, c_void};

/// A pointer to one of LLVM's objects.
pub type Ref = *mut c_void;

macro_rules! capi {
    ($($(#[$doc:meta])* $field:ident = $symbol:literal : fn($($arg:ty),*) -> $result:ty;)*) => {
        /// The functions, resolved from the loaded libLLVM.
        #[derive(Clone, Copy)]
        pub struct Api {
            $($(#[$doc])* pub $field: unsafe extern "C" fn($($arg),*) -> $result,)*
        }

        impl Api {
            /// Resolves all of them, or names the first that is missing.
            pub fn resolve() -> Result<Self, &'static str> {
                Ok(Self { $($field: {
                    let at = lookup($symbol).ok_or($symbol)?;
                    // SAFETY: the symbol is LLVM's documented C function of exactly this type.
                    unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($arg),*) -> $result>(at) }
                },)* })
            }
        }
    };
}

capi! {
    first_function = "LLVMGetFirstFunction": fn(Ref) -> Ref;
    next_function = "LLVMGetNextFunction": fn(Ref) -> Ref;
    module_of = "LLVMGetGlobalParent": fn(Ref) -> Ref;
    subprogram = "LLVMGetSubprogram": fn(Ref) -> Ref;
    parameter_count = "LLVMCountParams": fn(Ref) -> u32;
    first_param = "LLVMGetFirstParam": fn(Ref) -> Ref;
    next_param = "LLVMGetNextParam": fn(Ref) -> Ref;
    first_block = "LLVMGetFirstBasicBlock": fn(Ref) -> Ref;
    next_block = "LLVMGetNextBasicBlock": fn(Ref) -> Ref;
    function_of_block = "LLVMGetBasicBlockParent": fn(Ref) -> Ref;
    first_instruction = "LLVMGetFirstInstruction": fn(Ref) -> Ref;
    next_instruction = "LLVMGetNextInstruction": fn(Ref) -> Ref;
    terminator = "LLVMGetBasicBlockTerminator": fn(Ref) -> Ref;
    successor_count = "LLVMGetNumSuccessors": fn(Ref) -> u32;
    successor = "LLVMGetSuccessor": fn(Ref, u32) -> Ref;
    is_branch = "LLVMIsABranchInst": fn(Ref) -> Ref;
    is_conditional = "LLVMIsConditional": fn(Ref) -> i32;
    condition = "LLVMGetCondition": fn(Ref) -> Ref;
    is_constant_int = "LLVMIsAConstantInt": fn(Ref) -> Ref;
    constant_value = "LLVMConstIntGetZExtValue": fn(Ref) -> u64;
    opcode = "LLVMGetInstructionOpcode": fn(Ref) -> u32;
    value_name = "LLVMGetValueName2": fn(Ref, *mut usize) -> *const c_char;
    operand_count = "LLVMGetNumOperands": fn(Ref) -> i32;
    operand_use = "LLVMGetOperandUse": fn(Ref, u32) -> Ref;
    called = "LLVMGetCalledValue": fn(Ref) -> Ref;
    is_function = "LLVMIsAFunction": fn(Ref) -> Ref;
    type_of = "LLVMTypeOf": fn(Ref) -> Ref;
    type_kind = "LLVMGetTypeKind": fn(Ref) -> u32;
    location = "LLVMInstructionGetDebugLoc": fn(Ref) -> Ref;
    line = "LLVMDILocationGetLine": fn(Ref) -> u32;
    column = "LLVMDILocationGetColumn": fn(Ref) -> u32;
    scope = "LLVMDILocationGetScope": fn(Ref) -> Ref;
    inlined_at = "LLVMDILocationGetInlinedAt": fn(Ref) -> Ref;
    file_of_scope = "LLVMDIScopeGetFile": fn(Ref) -> Ref;
    file_name = "LLVMDIFileGetFilename": fn(Ref, *mut u32) -> *const c_char;
}

/// Finds a symbol in the process.
pub fn lookup(symbol: &str) -> Option<*mut c_void> {
    let name = CString::new(symbol).ok()?;
    // SAFETY: a plain symbol lookup.
    let at = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!at.is_null()).then_some(at)
}
