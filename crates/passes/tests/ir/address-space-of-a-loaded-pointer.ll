; Pointers loaded from a kernel's constant memory point to global memory. The conversion is new, and so is every address
; computed from it; only the store's operand is set, so that nothing is ever replaced.
; expect 16: lost preserve %1
; expect 19: clean
; RUN: opt -mtriple=amdgcn-amd-amdhsa -passes=infer-address-spaces -S < %s
target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @direct(ptr addrspace(4) %k) {
  %x = load ptr, ptr addrspace(4) %k
  %q = getelementptr i8, ptr %x, i64 12
  store i32 0, ptr %q
  ret void
}
define amdgpu_kernel void @through_an_integer(ptr addrspace(4) %k) {
  %x = load ptr, ptr addrspace(4) %k
  %a = ptrtoint ptr %x to i64
  %b = inttoptr i64 %a to ptr
  %q = getelementptr i8, ptr %b, i64 12
  store i32 0, ptr %q
  ret void
}
