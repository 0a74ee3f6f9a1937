; GlobalOpt makes the global an `alloca` of main, the only function that uses it. The description of `p` named its address and
; names nothing afterwards, though the address is there under another name.
; RUN: opt -S -passes=globalopt < %s
@g = internal global i32 0, align 4

define i32 @main(i32 %argc) norecurse !dbg !4 {
entry:
  store i32 %argc, ptr @g, align 4, !dbg !11
  call void @llvm.dbg.value(metadata ptr @g, metadata !8, metadata !DIExpression()), !dbg !10
  %v = load i32, ptr @g, align 4, !dbg !12
  %n = add i32 %v, 1, !dbg !12
  store i32 %n, ptr @g, align 4, !dbg !13
  call void @use(), !dbg !14
  %r = load i32, ptr @g, align 4, !dbg !14
  ret i32 %r, !dbg !15
}

declare void @use()
declare void @llvm.dbg.value(metadata, metadata, metadata)

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2}
!0 = distinct !DICompileUnit(language: DW_LANG_C99, file: !1, isOptimized: true, emissionKind: FullDebug)
!1 = !DIFile(filename: "a.c", directory: "/")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = !DISubroutineType(types: !5)
!4 = distinct !DISubprogram(name: "main", scope: !1, file: !1, line: 1, type: !3, unit: !0, spFlags: DISPFlagDefinition)
!5 = !{null}
!8 = !DILocalVariable(name: "p", scope: !4, file: !1, line: 2, type: !9)
!9 = !DIDerivedType(tag: DW_TAG_pointer_type, baseType: null, size: 64)
!10 = !DILocation(line: 0, scope: !4)
!11 = !DILocation(line: 3, scope: !4)
!12 = !DILocation(line: 4, scope: !4)
!13 = !DILocation(line: 6, scope: !4)
!14 = !DILocation(line: 8, scope: !4)
!15 = !DILocation(line: 9, scope: !4)
