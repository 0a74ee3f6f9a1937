; Figure 6a: LoopLoadElimination replaces a load by a phi that forwards the value stored in the iteration before,
; and forgot the load's location until LLVM 19.
; RUN: opt -passes=loop-load-elim -S < %s
; expect 15 16: lost preserve %store_forwarded
; expect 19: clean

define void @forward(ptr noalias %A, ptr noalias %B, i64 %N) {
entry:
  br label %for.body

for.body:
  %i = phi i64 [ 0, %entry ], [ %i.next, %for.body ]
  %i.next = add nuw nsw i64 %i, 1
  %next = getelementptr inbounds i32, ptr %A, i64 %i.next
  %here = getelementptr inbounds i32, ptr %A, i64 %i
  %from = getelementptr inbounds i32, ptr %B, i64 %i
  %b = load i32, ptr %from, align 4
  %a = load i32, ptr %here, align 4
  %sum = add i32 %a, %b
  store i32 %sum, ptr %next, align 4
  %done = icmp eq i64 %i.next, %N
  br i1 %done, label %for.end, label %for.body

for.end:
  ret void
}
