; RUN: opt -S -passes="function(declare-to-assign),attributor" < %s
; Nothing depends on `spare`, so that the caller passes nothing for it, and it still describes the parameter. `used` is passed.
target triple = "x86_64-pc-linux-gnu"

; Function Attrs: noinline nounwind uwtable
define dso_local i32 @inner(i32 noundef %used, i32 noundef %spare, i32 noundef %more) #0 !dbg !10 {
entry:
  %used.addr = alloca i32, align 4
  %spare.addr = alloca i32, align 4
  %more.addr = alloca i32, align 4
  %kept = alloca i32, align 4
  store i32 %used, ptr %used.addr, align 4
    #dbg_declare(ptr %used.addr, !15, !DIExpression(), !16)
  store i32 %spare, ptr %spare.addr, align 4
    #dbg_declare(ptr %spare.addr, !17, !DIExpression(), !18)
  store i32 %more, ptr %more.addr, align 4
    #dbg_declare(ptr %more.addr, !19, !DIExpression(), !20)
    #dbg_declare(ptr %kept, !21, !DIExpression(), !22)
  %0 = load i32, ptr %spare.addr, align 4, !dbg !23
  store i32 %0, ptr %kept, align 4, !dbg !22
  %1 = load i32, ptr %used.addr, align 4, !dbg !24
  %2 = load i32, ptr %more.addr, align 4, !dbg !25
  %mul = mul nsw i32 %1, %2, !dbg !26
  %3 = load i32, ptr %kept, align 4, !dbg !27
  %and = and i32 %3, 0, !dbg !28
  %add = add nsw i32 %mul, %and, !dbg !29
  ret i32 %add, !dbg !30
}

; Function Attrs: noinline nounwind uwtable
define dso_local i32 @outer(i32 noundef %x) #0 !dbg !31 {
entry:
  %x.addr = alloca i32, align 4
  store i32 %x, ptr %x.addr, align 4
    #dbg_declare(ptr %x.addr, !34, !DIExpression(), !35)
  %0 = load i32, ptr %x.addr, align 4, !dbg !36
  %1 = load i32, ptr %x.addr, align 4, !dbg !37
  %add = add nsw i32 %1, 1, !dbg !38
  %call = call i32 @inner(i32 noundef %0, i32 noundef 77, i32 noundef %add), !dbg !39
  ret i32 %call, !dbg !40
}

attributes #0 = { noinline nounwind uwtable "frame-pointer"="all" "min-legal-vector-width"="0" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="x86-64" "target-features"="+cmov,+cx8,+fxsr,+mmx,+sse,+sse2,+x87" "tune-cpu"="generic" }

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2, !3, !4, !5, !6, !7, !8}
!llvm.ident = !{!9}

!0 = distinct !DICompileUnit(language: DW_LANG_C11, file: !1, producer: "clang", isOptimized: false, runtimeVersion: 0, emissionKind: FullDebug, splitDebugInlining: false, nameTableKind: None)
!1 = !DIFile(filename: "a.c", directory: "/")
!2 = !{i32 7, !"Dwarf Version", i32 5}
!3 = !{i32 2, !"Debug Info Version", i32 3}
!4 = !{i32 1, !"wchar_size", i32 4}
!5 = !{i32 8, !"PIC Level", i32 2}
!6 = !{i32 7, !"PIE Level", i32 2}
!7 = !{i32 7, !"uwtable", i32 2}
!8 = !{i32 7, !"frame-pointer", i32 2}
!9 = !{!"clang"}
!10 = distinct !DISubprogram(name: "inner", scope: !1, file: !1, line: 1, type: !11, scopeLine: 1, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition, unit: !0, retainedNodes: !14)
!11 = !DISubroutineType(types: !12)
!12 = !{!13, !13, !13, !13}
!13 = !DIBasicType(name: "int", size: 32, encoding: DW_ATE_signed)
!14 = !{}
!15 = !DILocalVariable(name: "used", arg: 1, scope: !10, file: !1, line: 1, type: !13)
!16 = !DILocation(line: 1, column: 15, scope: !10)
!17 = !DILocalVariable(name: "spare", arg: 2, scope: !10, file: !1, line: 1, type: !13)
!18 = !DILocation(line: 1, column: 25, scope: !10)
!19 = !DILocalVariable(name: "more", arg: 3, scope: !10, file: !1, line: 1, type: !13)
!20 = !DILocation(line: 1, column: 36, scope: !10)
!21 = !DILocalVariable(name: "kept", scope: !10, file: !1, line: 2, type: !13)
!22 = !DILocation(line: 2, column: 7, scope: !10)
!23 = !DILocation(line: 2, column: 14, scope: !10)
!24 = !DILocation(line: 3, column: 10, scope: !10)
!25 = !DILocation(line: 3, column: 17, scope: !10)
!26 = !DILocation(line: 3, column: 15, scope: !10)
!27 = !DILocation(line: 3, column: 25, scope: !10)
!28 = !DILocation(line: 3, column: 30, scope: !10)
!29 = !DILocation(line: 3, column: 22, scope: !10)
!30 = !DILocation(line: 3, column: 3, scope: !10)
!31 = distinct !DISubprogram(name: "outer", scope: !1, file: !1, line: 5, type: !32, scopeLine: 5, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition, unit: !0, retainedNodes: !14)
!32 = !DISubroutineType(types: !33)
!33 = !{!13, !13}
!34 = !DILocalVariable(name: "x", arg: 1, scope: !31, file: !1, line: 5, type: !13)
!35 = !DILocation(line: 5, column: 15, scope: !31)
!36 = !DILocation(line: 5, column: 33, scope: !31)
!37 = !DILocation(line: 5, column: 40, scope: !31)
!38 = !DILocation(line: 5, column: 42, scope: !31)
!39 = !DILocation(line: 5, column: 27, scope: !31)
!40 = !DILocation(line: 5, column: 20, scope: !31)
