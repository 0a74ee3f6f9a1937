; Both arms assign `x` and do nothing else. SimplifyCFG removes them with their assignments, so that at the call a debugger
; shows 1, a value that `x` has on no path there.
; RUN: opt -S -passes=simplifycfg < %s
define void @f(i1 %c) !dbg !4 {
entry:
  call void @llvm.dbg.value(metadata i32 1, metadata !8, metadata !DIExpression()), !dbg !10
  br i1 %c, label %then, label %else, !dbg !11

then:
  call void @llvm.dbg.value(metadata i32 2, metadata !8, metadata !DIExpression()), !dbg !10
  br label %end, !dbg !12

else:
  call void @llvm.dbg.value(metadata i32 3, metadata !8, metadata !DIExpression()), !dbg !10
  br label %end, !dbg !13

end:
  call void @use(), !dbg !14
  ret void, !dbg !15
}

declare void @use()
declare void @llvm.dbg.value(metadata, metadata, metadata)

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2}
!0 = distinct !DICompileUnit(language: DW_LANG_C99, file: !1, isOptimized: true, emissionKind: FullDebug)
!1 = !DIFile(filename: "a.c", directory: "/")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = !DISubroutineType(types: !5)
!4 = distinct !DISubprogram(name: "f", scope: !1, file: !1, line: 1, type: !3, unit: !0, spFlags: DISPFlagDefinition)
!5 = !{null}
!8 = !DILocalVariable(name: "x", scope: !4, file: !1, line: 2, type: !9)
!9 = !DIBasicType(name: "int", size: 32, encoding: DW_ATE_signed)
!10 = !DILocation(line: 0, scope: !4)
!11 = !DILocation(line: 3, scope: !4)
!12 = !DILocation(line: 4, scope: !4)
!13 = !DILocation(line: 6, scope: !4)
!14 = !DILocation(line: 8, scope: !4)
!15 = !DILocation(line: 9, scope: !4)
