; Loop strength reduction gives the conversion of a counter a phi of its own.
; expect 16: lost preserve %IV.S.
; expect 19: clean
; RUN: opt -mtriple=x86_64-unknown-linux-gnu -passes=loop-reduce -S < %s
target datalayout = "e-m:e-i64:64-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
define void @f(ptr %p, double %d) {
entry:
  br label %loop
loop:
  %iv = phi i64 [ 0, %entry ], [ %iv.next, %loop ]
  %i32 = phi i32 [ 0, %entry ], [ %i32.next, %loop ]
  %c = uitofp i32 %i32 to double
  %m = fmul double %c, %d
  %g = getelementptr double, ptr %p, i64 %iv
  store double %m, ptr %g
  %iv.next = add nuw nsw i64 %iv, 1
  %i32.next = add nuw nsw i32 %i32, 1
  %e = icmp ult i64 %iv.next, 4567
  br i1 %e, label %loop, label %exit
exit:
  ret void
}
