; Two copies become one, and nothing is written to the array in the middle any more, of which the variable still is said to be. The
; second function hands the array to a call, which may write it.
; RUN: opt -S -passes=memcpyopt < %s
target datalayout = "e-m:e-i64:64-f80:128-n8:16:32:64-S128"

define i8 @f(ptr noalias %from) !dbg !10 {
  %middle = alloca [4 x i8]
  %last = alloca [4 x i8]
  call void @llvm.dbg.declare(metadata ptr %middle, metadata !11, metadata !DIExpression()), !dbg !15
  call void @llvm.memcpy.p0.p0.i64(ptr %middle, ptr %from, i64 4, i1 false), !dbg !16
  call void @llvm.memcpy.p0.p0.i64(ptr %last, ptr %middle, i64 4, i1 false), !dbg !16
  %byte = load i8, ptr %last, !dbg !17
  ret i8 %byte, !dbg !17
}

define i8 @g(ptr noalias %from) !dbg !20 {
  %middle = alloca [4 x i8]
  %last = alloca [4 x i8]
  call void @llvm.dbg.declare(metadata ptr %middle, metadata !21, metadata !DIExpression()), !dbg !25
  call void @llvm.memcpy.p0.p0.i64(ptr %middle, ptr %from, i64 4, i1 false), !dbg !26
  call void @llvm.memcpy.p0.p0.i64(ptr %last, ptr %middle, i64 4, i1 false), !dbg !26
  call void @look(ptr %middle), !dbg !26
  %byte = load i8, ptr %last, !dbg !27
  ret i8 %byte, !dbg !27
}

declare void @look(ptr)
declare void @llvm.dbg.declare(metadata, metadata, metadata)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

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
