; RUN: opt -passes=correlated-propagation -S %s
; The conversion is only used where the number is not negative, and becomes one of a number without sign. The variable is
; described where the number may be negative. In @checked a branch sees to it first.
define double @widen(i32 noundef %n) !dbg !10 {
  %d = sitofp i32 %n to double, !dbg !12
  call void @llvm.dbg.value(metadata double %d, metadata !16, metadata !DIExpression()), !dbg !12
  %positive = icmp sge i32 %n, 0, !dbg !13
  %result = select i1 %positive, double %d, double 1.000000e+00, !dbg !13
  ret double %result, !dbg !14
}

define double @checked(i32 noundef %n) !dbg !30 {
entry:
  %positive = icmp sge i32 %n, 0, !dbg !32
  br i1 %positive, label %yes, label %no, !dbg !32
yes:
  %d = sitofp i32 %n to double, !dbg !33
  call void @llvm.dbg.value(metadata double %d, metadata !36, metadata !DIExpression()), !dbg !33
  ret double %d, !dbg !34
no:
  ret double 1.000000e+00, !dbg !34
}

declare void @llvm.dbg.value(metadata, metadata, metadata)

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!3}

!0 = distinct !DICompileUnit(language: DW_LANG_C99, file: !1, producer: "hand", isOptimized: true, emissionKind: FullDebug)
!1 = !DIFile(filename: "a.c", directory: "/")
!3 = !{i32 2, !"Debug Info Version", i32 3}
!5 = !DISubroutineType(types: !{})
!10 = distinct !DISubprogram(name: "widen", scope: !1, file: !1, line: 1, type: !5, unit: !0, spFlags: DISPFlagDefinition)
!11 = !DIBasicType(name: "double", size: 64, encoding: DW_ATE_float)
!12 = !DILocation(line: 2, scope: !10)
!13 = !DILocation(line: 3, scope: !10)
!14 = !DILocation(line: 4, scope: !10)
!16 = !DILocalVariable(name: "d", scope: !10, file: !1, line: 2, type: !11)
!30 = distinct !DISubprogram(name: "checked", scope: !1, file: !1, line: 20, type: !5, unit: !0, spFlags: DISPFlagDefinition)
!32 = !DILocation(line: 21, scope: !30)
!33 = !DILocation(line: 22, scope: !30)
!34 = !DILocation(line: 23, scope: !30)
!36 = !DILocalVariable(name: "d", scope: !30, file: !1, line: 21, type: !11)
