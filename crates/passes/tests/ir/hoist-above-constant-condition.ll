; An instruction is hoisted above a branch whose condition is a constant here. In general it is none: the other edge counts.
; expect 16: incorrect drop %x
; expect 19: clean
; RUN: opt -passes=speculative-execution -S < %s
define i32 @f(i32 %a, i32 %b) {
entry:
  br i1 true, label %then, label %end
then:
  %x = add i32 %a, %b
  br label %end
end:
  %r = phi i32 [ %x, %then ], [ 0, %entry ]
  ret i32 %r
}
