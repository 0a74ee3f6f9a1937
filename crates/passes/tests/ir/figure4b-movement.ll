; Figure 4b: an instruction moves from a branch to the block before it, so that the other path runs it too. Its
; location must go; SpeculativeExecution let it stay until LLVM 19.
; RUN: opt -passes=speculative-execution -S < %s
; expect 13 14 15 16: incorrect drop %sum
; expect 19: clean

define i32 @movement(i32 %a, i32 %b, i1 %c) {
entry:
  br i1 %c, label %if.then, label %if.end

if.then:
  %sum = add i32 %a, %b
  br label %if.end

if.end:
  %result = phi i32 [ %sum, %if.then ], [ 0, %entry ]
  ret i32 %result
}
