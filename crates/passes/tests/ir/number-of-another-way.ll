; RUN: opt -passes=simplifycfg -S %s
; The block behind the phi is copied into both arms. In the arm where the phi is true the copied description says false.
; In @arms both arms describe it themselves, and nothing is wrong.
declare void @left()
declare void @right()
declare void @take(i1)

define void @choose(i1 noundef %c) !dbg !10 {
entry:
  br i1 %c, label %yes, label %no, !dbg !12
yes:
  call void @left(), !dbg !13
  br label %end, !dbg !13
no:
  call void @right(), !dbg !14
  br label %end, !dbg !14
end:
  %picked = phi i1 [ true, %yes ], [ false, %no ], !dbg !15
  call void @llvm.dbg.value(metadata i1 %picked, metadata !16, metadata !DIExpression()), !dbg !15
  call void @take(i1 %picked), !dbg !15
  br i1 %picked, label %again, label %other, !dbg !17
again:
  call void @left(), !dbg !18
  br label %done, !dbg !18
other:
  call void @right(), !dbg !19
  br label %done, !dbg !19
done:
  ret void, !dbg !20
}

define void @arms(i1 noundef %c) !dbg !30 {
entry:
  br i1 %c, label %yes, label %no, !dbg !32
yes:
  call void @llvm.dbg.value(metadata i1 true, metadata !36, metadata !DIExpression()), !dbg !32
  call void @left(), !dbg !33
  br label %end, !dbg !33
no:
  call void @llvm.dbg.value(metadata i1 false, metadata !36, metadata !DIExpression()), !dbg !32
  call void @right(), !dbg !34
  br label %end, !dbg !34
end:
  %picked = phi i1 [ true, %yes ], [ false, %no ], !dbg !35
  call void @take(i1 %picked), !dbg !35
  br i1 %picked, label %again, label %other, !dbg !35
again:
  call void @left(), !dbg !38
  br label %done, !dbg !38
other:
  call void @right(), !dbg !39
  br label %done, !dbg !39
done:
  ret void, !dbg !39
}

declare void @llvm.dbg.value(metadata, metadata, metadata)

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!3}

!0 = distinct !DICompileUnit(language: DW_LANG_C99, file: !1, producer: "hand", isOptimized: true, emissionKind: FullDebug)
!1 = !DIFile(filename: "a.c", directory: "/")
!3 = !{i32 2, !"Debug Info Version", i32 3}
!5 = !DISubroutineType(types: !{})
!10 = distinct !DISubprogram(name: "choose", scope: !1, file: !1, line: 1, type: !5, unit: !0, spFlags: DISPFlagDefinition)
!11 = !DIBasicType(name: "bool", size: 8, encoding: DW_ATE_boolean)
!12 = !DILocation(line: 2, scope: !10)
!13 = !DILocation(line: 3, scope: !10)
!14 = !DILocation(line: 4, scope: !10)
!15 = !DILocation(line: 5, scope: !10)
!16 = !DILocalVariable(name: "picked", scope: !10, file: !1, line: 2, type: !11)
!17 = !DILocation(line: 6, scope: !10)
!18 = !DILocation(line: 7, scope: !10)
!19 = !DILocation(line: 8, scope: !10)
!20 = !DILocation(line: 9, scope: !10)
!30 = distinct !DISubprogram(name: "arms", scope: !1, file: !1, line: 20, type: !5, unit: !0, spFlags: DISPFlagDefinition)
!32 = !DILocation(line: 21, scope: !30)
!33 = !DILocation(line: 22, scope: !30)
!34 = !DILocation(line: 23, scope: !30)
!35 = !DILocation(line: 24, scope: !30)
!36 = !DILocalVariable(name: "picked", scope: !30, file: !1, line: 21, type: !11)
!38 = !DILocation(line: 25, scope: !30)
!39 = !DILocation(line: 26, scope: !30)
