; RUN: opt -passes=reassociate -S %s
; A difference from a product with a negative constant becomes a sum, and the product, which stays described, changes its sign.
; In @kept the constant is positive and the product stays as it was.
define double @apart(double noundef %p, double noundef %q) !dbg !10 {
  %scaled = fmul double %q, -2.500000e+00, !dbg !12
  call void @llvm.dbg.value(metadata double %scaled, metadata !16, metadata !DIExpression()), !dbg !12
  %rest = fsub double %p, %scaled, !dbg !13
  ret double %rest, !dbg !14
}

define double @kept(double noundef %p, double noundef %q) !dbg !30 {
  %scaled = fmul double %q, 2.500000e+00, !dbg !32
  call void @llvm.dbg.value(metadata double %scaled, metadata !36, metadata !DIExpression()), !dbg !32
  %rest = fsub double %p, %scaled, !dbg !33
  ret double %rest, !dbg !34
}

declare void @llvm.dbg.value(metadata, metadata, metadata)

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!3}

!0 = distinct !DICompileUnit(language: DW_LANG_C99, file: !1, producer: "hand", isOptimized: true, emissionKind: FullDebug)
!1 = !DIFile(filename: "a.c", directory: "/")
!3 = !{i32 2, !"Debug Info Version", i32 3}
!5 = !DISubroutineType(types: !{})
!10 = distinct !DISubprogram(name: "apart", scope: !1, file: !1, line: 1, type: !5, unit: !0, spFlags: DISPFlagDefinition)
!11 = !DIBasicType(name: "double", size: 64, encoding: DW_ATE_float)
!12 = !DILocation(line: 2, scope: !10)
!13 = !DILocation(line: 3, scope: !10)
!14 = !DILocation(line: 4, scope: !10)
!16 = !DILocalVariable(name: "scaled", scope: !10, file: !1, line: 2, type: !11)
!30 = distinct !DISubprogram(name: "kept", scope: !1, file: !1, line: 20, type: !5, unit: !0, spFlags: DISPFlagDefinition)
!32 = !DILocation(line: 21, scope: !30)
!33 = !DILocation(line: 22, scope: !30)
!34 = !DILocation(line: 23, scope: !30)
!36 = !DILocalVariable(name: "scaled", scope: !30, file: !1, line: 21, type: !11)
