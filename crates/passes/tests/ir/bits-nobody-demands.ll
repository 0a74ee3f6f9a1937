; Nothing looks at the two lowest bits, so the `or` is replaced by its operand, and the variable with it. In the second function the
; bits are set already, and the two are equal.
; RUN: opt -S -passes=bdce < %s
define i32 @f(i32 %a) !dbg !10 {
  %low = or i32 %a, 3, !dbg !16
  call void @llvm.dbg.value(metadata i32 %low, metadata !11, metadata !DIExpression()), !dbg !15
  %bit = and i32 %low, 8, !dbg !17
  ret i32 %bit, !dbg !17
}

define i32 @g(i32 %b) !dbg !20 {
  %a = or i32 %b, 3, !dbg !26
  %low = or i32 %a, 3, !dbg !26
  call void @llvm.dbg.value(metadata i32 %low, metadata !21, metadata !DIExpression()), !dbg !25
  %bit = and i32 %low, 8, !dbg !27
  call void @use(i32 %a), !dbg !27
  ret i32 %bit, !dbg !27
}

declare void @use(i32)

declare void @llvm.dbg.value(metadata, metadata, metadata)

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2}
!0 = distinct !DICompileUnit(language: DW_LANG_C99, file: !1, isOptimized: true, emissionKind: FullDebug)
!1 = !DIFile(filename: "a.c", directory: "/")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = !DISubroutineType(types: !5)
!5 = !{null}
!9 = !DIBasicType(name: "int", size: 32, encoding: DW_ATE_signed)
!10 = distinct !DISubprogram(name: "f", scope: !1, file: !1, line: 1, type: !3, unit: !0, spFlags: DISPFlagDefinition)
!11 = !DILocalVariable(name: "x", scope: !10, file: !1, line: 2, type: !9)
!15 = !DILocation(line: 0, scope: !10)
!16 = !DILocation(line: 3, scope: !10)
!17 = !DILocation(line: 4, scope: !10)
!20 = distinct !DISubprogram(name: "g", scope: !1, file: !1, line: 1, type: !3, unit: !0, spFlags: DISPFlagDefinition)
!21 = !DILocalVariable(name: "x", scope: !20, file: !1, line: 2, type: !9)
!25 = !DILocation(line: 0, scope: !20)
!26 = !DILocation(line: 3, scope: !20)
!27 = !DILocation(line: 4, scope: !20)
