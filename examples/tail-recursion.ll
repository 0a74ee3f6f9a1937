; Tail-call elimination turns the recursion into a loop and clones the accumulating addition to another
; return; up to LLVM 18 the clone keeps the location of a branch that is not taken there.
; RUN: opt -passes=tailcallelim -S < %s

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
