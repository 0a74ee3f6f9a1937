; Figure 4c: an instruction is replaced by a new one in its own block. Every path is the same, and the location
; must stay; NaryReassociate lost it until LLVM 19.
; RUN: opt -passes=nary-reassociate -S < %s
; expect 13 14 15 16: lost preserve *
; expect 19: clean

declare void @use(i32)

define void @replacement(i32 %a, i32 %b, i32 %c) {
  %ac = add i32 %a, %c
  call void @use(i32 %ac)
  %bc = add i32 %b, %c
  %abc = add i32 %a, %bc
  call void @use(i32 %abc)
  ret void
}
