; Figure 6b: GVNSink moves one of several equal instructions below the branches and lets it stand for all. Its
; location must be the merged one; until LLVM 19 it was that of the one it happened to choose.
; RUN: opt -passes=gvn-sink -S < %s
; expect 13 14 15 16: incorrect merge *
; expect 19: clean

define i32 @sinking(i1 %c, i32 %a, i32 %b) {
entry:
  br i1 %c, label %if.then, label %if.then1

if.then:
  %x = mul i32 %a, %b
  %x2 = add i32 %x, 7
  br label %if.end

if.then1:
  %y = mul i32 %a, %b
  %y2 = add i32 %y, 7
  br label %if.end

if.end:
  %z = phi i32 [ %x2, %if.then ], [ %y2, %if.then1 ]
  ret i32 %z
}
