; Figure 6a in the typed pointers of older LLVM: LoopLoadElimination replaces a load by a phi that forwards the value stored in the iteration before,
; and forgot the load's location until LLVM 19.
; RUN: opt -passes=loop-load-elim -S < %s
; expect 13 14 15 16: lost preserve %store_forwarded

define void @forward(i32* noalias %A, i32* noalias %B, i64 %N) {
entry:
  br label %for.body

for.body:
  %i = phi i64 [ 0, %entry ], [ %i.next, %for.body ]
  %i.next = add nuw nsw i64 %i, 1
  %next = getelementptr inbounds i32, i32* %A, i64 %i.next
  %here = getelementptr inbounds i32, i32* %A, i64 %i
  %from = getelementptr inbounds i32, i32* %B, i64 %i
  %b = load i32, i32* %from, align 4
  %a = load i32, i32* %here, align 4
  %sum = add i32 %a, %b
  store i32 %sum, i32* %next, align 4
  %done = icmp eq i64 %i.next, %N
  br i1 %done, label %for.end, label %for.body

for.end:
  ret void
}
