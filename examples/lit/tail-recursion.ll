; A test as LLVM has them, and one line more: the pass of the test must update debug locations rightly.
; It fails up to LLVM 18 (the clone of the addition keeps a location of another path) and passes with 19.
; REQUIRES: trueline
; RUN: opt -passes=tailcallelim -disable-output %s
; RUN: trueline passes %s

define i64 @weigh(i64 %n) {
entry:
  %done = icmp eq i64 %n, 0
  br i1 %done, label %stop, label %more

more:
  %next = sub i64 %n, 1
  %odd = trunc i64 %n to i1
  br i1 %odd, label %heavy, label %light

heavy:
  %below = tail call i64 @weigh(i64 %next)
  %weight = add i64 %below, 3
  ret i64 %weight

light:
  %rest = tail call i64 @weigh(i64 %next)
  %half = udiv i64 %rest, 2
  ret i64 %half

stop:
  ret i64 0
}
