; The situation of figure 2 of the paper: the accumulating instruction of one branch is cloned into the other,
; and kept its location there until LLVM 19.
; RUN: opt -passes=tailcallelim -S < %s
; expect 13 14 15 16: incorrect drop %accumulator.ret.tr
; expect 19: clean

define i32 @recursion(i32 %a) {
entry:
  %is.two = icmp eq i32 %a, 2
  br i1 %is.two, label %if.then, label %if.end

if.then:
  %sub = sub nsw i32 %a, 1
  %bit = and i32 %a, 1
  %even = icmp eq i32 %bit, 0
  br i1 %even, label %if.else, label %if.then2

if.then2:
  %call = tail call i32 @recursion(i32 %sub)
  %add = add nsw i32 %call, 1
  ret i32 %add

if.else:
  %call3 = tail call i32 @recursion(i32 %sub)
  %mul = mul nsw i32 %call3, 2
  ret i32 %mul

if.end:
  ret i32 0
}
