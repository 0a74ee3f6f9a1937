; The comparison becomes its inverse, the ways of the branch change places, and the variable stays described by it. (A pass that
; deletes nothing is not looked at, so something is there to be deleted.)
; RUN: opt -S -passes=instcombine < %s
define i32 @f(float %a, float %b) !dbg !10 {
  %unused = fadd float %a, %b, !dbg !16
  %differ = fcmp one float %a, %b, !dbg !16
  call void @llvm.dbg.value(metadata i1 %differ, metadata !11, metadata !DIExpression()), !dbg !15
  br i1 %differ, label %then, label %else, !dbg !16

then:
  ret i32 12, !dbg !17

else:
  ret i32 123, !dbg !17
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
!10 = distinct !DISubprogram(name: "f", scope: !1, file: !1, line: 1, type: !3, unit: !0, spFlags: DISPFlagDefinition)
!11 = !DILocalVariable(name: "x", scope: !10, file: !1, line: 2, type: !9)
!15 = !DILocation(line: 0, scope: !10)
!16 = !DILocation(line: 3, scope: !10)
!17 = !DILocation(line: 4, scope: !10)
