; Only the variable depends on how often the loop runs, so its condition becomes false: at the call a debugger shows what the first
; iteration made of `x`. The second loop runs once in the original, too.
; RUN: opt -S -passes=indvars < %s
define i32 @thrice() !dbg !10 {
entry:
  br label %loop, !dbg !16

loop:
  %n = phi i32 [ 10, %entry ], [ %less, %loop ], !dbg !16
  %sum = phi i32 [ 0, %entry ], [ %total, %loop ], !dbg !16
  %total = add nsw i32 %sum, %n, !dbg !16
  %less = add nsw i32 %n, -1, !dbg !16
  call void @llvm.dbg.value(metadata i32 %less, metadata !11, metadata !DIExpression()), !dbg !15
  %more = icmp sgt i32 %less, 7, !dbg !16
  br i1 %more, label %loop, label %end, !dbg !16

end:
  call void @use(), !dbg !17
  ret i32 %total, !dbg !17
}

define i32 @once() !dbg !20 {
entry:
  br label %loop, !dbg !26

loop:
  %n = phi i32 [ 8, %entry ], [ %less, %loop ], !dbg !26
  %sum = phi i32 [ 0, %entry ], [ %total, %loop ], !dbg !26
  %total = add nsw i32 %sum, %n, !dbg !26
  %less = add nsw i32 %n, -1, !dbg !26
  call void @llvm.dbg.value(metadata i32 %less, metadata !21, metadata !DIExpression()), !dbg !25
  %more = icmp sgt i32 %less, 7, !dbg !26
  br i1 %more, label %loop, label %end, !dbg !26

end:
  call void @use(), !dbg !27
  ret i32 %total, !dbg !27
}

declare void @use()

declare void @llvm.dbg.value(metadata, metadata, metadata)

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2}
!0 = distinct !DICompileUnit(language: DW_LANG_C99, file: !1, isOptimized: true, emissionKind: FullDebug)
!1 = !DIFile(filename: "a.c", directory: "/")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = !DISubroutineType(types: !5)
!5 = !{null}
!9 = !DIBasicType(name: "int", size: 32, encoding: DW_ATE_signed)
!10 = distinct !DISubprogram(name: "thrice", scope: !1, file: !1, line: 1, type: !3, unit: !0, spFlags: DISPFlagDefinition)
!11 = !DILocalVariable(name: "x", scope: !10, file: !1, line: 2, type: !9)
!15 = !DILocation(line: 0, scope: !10)
!16 = !DILocation(line: 3, scope: !10)
!17 = !DILocation(line: 4, scope: !10)
!20 = distinct !DISubprogram(name: "once", scope: !1, file: !1, line: 1, type: !3, unit: !0, spFlags: DISPFlagDefinition)
!21 = !DILocalVariable(name: "x", scope: !20, file: !1, line: 2, type: !9)
!25 = !DILocation(line: 0, scope: !20)
!26 = !DILocation(line: 3, scope: !20)
!27 = !DILocation(line: 4, scope: !20)
