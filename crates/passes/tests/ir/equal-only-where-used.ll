; The quotient is only used where `%x` is negative, so the pass divides without a sign and negates twice. The variable follows to
; that value, which is another one for every positive `%x`. Where a branch has seen to the sign the two are equal.
; RUN: opt -S -passes=correlated-propagation < %s
define i32 @used(i32 noundef %x) !dbg !10 {
entry:
  %quotient = sdiv i32 %x, 42, !dbg !16
  call void @llvm.dbg.value(metadata i32 %quotient, metadata !11, metadata !DIExpression()), !dbg !15
  %negative = icmp slt i32 %x, 0, !dbg !17
  %result = select i1 %negative, i32 %quotient, i32 24, !dbg !17
  ret i32 %result, !dbg !17
}

define i32 @branched(i32 noundef %x) !dbg !20 {
entry:
  %negative = icmp slt i32 %x, 0, !dbg !26
  br i1 %negative, label %below, label %end, !dbg !26

below:
  %quotient = sdiv i32 %x, 42, !dbg !26
  call void @llvm.dbg.value(metadata i32 %quotient, metadata !21, metadata !DIExpression()), !dbg !25
  ret i32 %quotient, !dbg !27

end:
  ret i32 24, !dbg !27
}

declare void @llvm.dbg.value(metadata, metadata, metadata)

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2}
!0 = distinct !DICompileUnit(language: DW_LANG_C99, file: !1, isOptimized: true, emissionKind: FullDebug)
!1 = !DIFile(filename: "a.c", directory: "/")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = !DISubroutineType(types: !5)
!5 = !{null}
!9 = !DIBasicType(name: "int", size: 32, encoding: DW_ATE_signed)
!10 = distinct !DISubprogram(name: "used", scope: !1, file: !1, line: 1, type: !3, unit: !0, spFlags: DISPFlagDefinition)
!11 = !DILocalVariable(name: "q", scope: !10, file: !1, line: 2, type: !9)
!15 = !DILocation(line: 0, scope: !10)
!16 = !DILocation(line: 3, scope: !10)
!17 = !DILocation(line: 4, scope: !10)
!20 = distinct !DISubprogram(name: "branched", scope: !1, file: !1, line: 1, type: !3, unit: !0, spFlags: DISPFlagDefinition)
!21 = !DILocalVariable(name: "q", scope: !20, file: !1, line: 2, type: !9)
!25 = !DILocation(line: 0, scope: !20)
!26 = !DILocation(line: 3, scope: !20)
!27 = !DILocation(line: 4, scope: !20)
