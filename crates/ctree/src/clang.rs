//! A narrow, checked view of libclang: the only place in the crate that calls it.
//!
//! libclang is loaded at run time (the newest one installed, or the one `LIBCLANG_PATH` names), so
//! building Trueline needs no LLVM. A [`ParsedSource`] owns one index and one translation unit and never leaves
//! its thread; several threads may each have one, which libclang allows.

use crate::Span;
use clang_sys::{
    CX_StorageClass, CXChildVisit_Continue, CXChildVisitResult, CXClientData, CXCursor, CXCursorKind, CXDiagnostic_Error, CXError_Success,
    CXFile, CXIndex, CXSourceLocation, CXString, CXTranslationUnit, CXTranslationUnit_DetailedPreprocessingRecord,
    CXTranslationUnit_KeepGoing, CXType, CXTypeKind, CXUnsavedFile, CXVisit_Continue, CXVisitorResult, SharedLibrary,
    clang_Cursor_getOffsetOfField, clang_Cursor_getStorageClass, clang_Cursor_getVarDeclInitializer, clang_Cursor_hasAttrs,
    clang_Cursor_isFunctionInlined, clang_Cursor_isNull, clang_File_isEqual, clang_Type_getSizeOf, clang_Type_visitFields,
    clang_createIndex, clang_disposeDiagnostic, clang_disposeIndex, clang_disposeString, clang_disposeTranslationUnit, clang_getArgType,
    clang_getArrayElementType, clang_getArraySize, clang_getCString, clang_getCanonicalCursor, clang_getCanonicalType,
    clang_getCursorExtent, clang_getCursorKind, clang_getCursorLocation, clang_getCursorReferenced, clang_getCursorSpelling,
    clang_getCursorType, clang_getDiagnostic, clang_getDiagnosticLocation, clang_getDiagnosticSeverity, clang_getDiagnosticSpelling,
    clang_getEnumDeclIntegerType, clang_getExpansionLocation, clang_getFieldDeclBitWidth, clang_getFile, clang_getNumArgTypes,
    clang_getNumDiagnostics, clang_getPointeeType, clang_getRangeEnd, clang_getRangeStart, clang_getResultType,
    clang_getTranslationUnitCursor, clang_getTypeDeclaration, clang_getTypeSpelling, clang_isConstQualifiedType, clang_isCursorDefinition,
    clang_isFunctionTypeVariadic, clang_isInvalid, clang_isVolatileQualifiedType, clang_parseTranslationUnit2, clang_visitChildren,
    is_loaded, load_manually, set_library,
};
use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::marker::PhantomData;
use std::ptr;
use std::sync::{Arc, OnceLock};

/// Loads libclang for this thread; loading itself happens once per process.
pub(crate) fn load() -> Result<(), String> {
    static LIBRARY: OnceLock<Result<Arc<SharedLibrary>, String>> = OnceLock::new();
    if is_loaded() {
        return Ok(());
    }
    let library = LIBRARY.get_or_init(|| load_manually().map(Arc::new)).clone()?;
    set_library(Some(library));
    Ok(())
}

/// A parsed translation unit.
pub(crate) struct ParsedSource {
    index: CXIndex,
    unit: CXTranslationUnit,
    main: CXFile,
}

/// A diagnostic that stops us.
pub(crate) struct Diagnostic {
    pub(crate) line: u32,
    pub(crate) column: u32,
    pub(crate) message: String,
}

impl ParsedSource {
    /// Parses text under a file name with flags. `None` when libclang gives no unit at all.
    pub(crate) fn parse(name: &str, text: &str, flags: &[String]) -> Option<Self> {
        let c_name = CString::new(name).ok()?;
        let c_flags: Vec<CString> = flags.iter().map(|f| CString::new(f.as_str())).collect::<Result<_, _>>().ok()?;
        let flag_pointers: Vec<*const c_char> = c_flags.iter().map(|f| f.as_ptr()).collect();
        let mut unsaved = CXUnsavedFile { Filename: c_name.as_ptr(), Contents: text.as_ptr().cast(), Length: text.len() as _ };
        // SAFETY: every pointer handed over lives until after the calls; libclang copies what it keeps.
        unsafe {
            let index = clang_createIndex(0, 0);
            let options = CXTranslationUnit_DetailedPreprocessingRecord | CXTranslationUnit_KeepGoing;
            let mut unit = ptr::null_mut();
            let code = clang_parseTranslationUnit2(
                index,
                c_name.as_ptr(),
                flag_pointers.as_ptr(),
                flag_pointers.len() as c_int,
                &mut unsaved,
                1,
                options,
                &mut unit,
            );
            if code != CXError_Success || unit.is_null() {
                clang_disposeIndex(index);
                return None;
            }
            let main = clang_getFile(unit, c_name.as_ptr());
            Some(Self { index, unit, main })
        }
    }

    /// The first error, if any.
    pub(crate) fn problem(&self) -> Option<Diagnostic> {
        // SAFETY: diagnostics belong to the unit, which lives; each one is disposed of.
        unsafe {
            (0..clang_getNumDiagnostics(self.unit)).find_map(|i| {
                let diagnostic = clang_getDiagnostic(self.unit, i);
                let severity = clang_getDiagnosticSeverity(diagnostic);
                let found = (severity >= CXDiagnostic_Error).then(|| {
                    let (mut line, mut column) = (0, 0);
                    let location = clang_getDiagnosticLocation(diagnostic);
                    clang_getExpansionLocation(location, ptr::null_mut(), &mut line, &mut column, ptr::null_mut());
                    Diagnostic { line, column, message: take(clang_getDiagnosticSpelling(diagnostic)) }
                });
                clang_disposeDiagnostic(diagnostic);
                found
            })
        }
    }

    /// The cursor of the whole translation unit.
    pub(crate) fn root(&self) -> Cursor<'_> {
        // SAFETY: the unit lives as long as the cursor's lifetime says.
        Cursor { raw: unsafe { clang_getTranslationUnitCursor(self.unit) }, session: PhantomData }
    }

    /// Where a cursor is in the main file, `None` when it is elsewhere.
    pub(crate) fn span(&self, cursor: &Cursor<'_>) -> Option<Span> {
        // SAFETY: the cursor belongs to this unit.
        let extent = unsafe { clang_getCursorExtent(cursor.raw) };
        // SAFETY: as above.
        let (start, end) = unsafe { (clang_getRangeStart(extent), clang_getRangeEnd(extent)) };
        Some(Span::new(self.offset(start)?, self.offset(end)?))
    }

    /// Where a cursor's name is in the main file.
    pub(crate) fn location(&self, cursor: &Cursor<'_>) -> Option<usize> {
        // SAFETY: the cursor belongs to this unit.
        self.offset(unsafe { clang_getCursorLocation(cursor.raw) })
    }

    fn offset(&self, location: CXSourceLocation) -> Option<usize> {
        let mut file = ptr::null_mut();
        let mut offset: c_uint = 0;
        // SAFETY: the two results live on this stack; libclang accepts null for the others.
        unsafe { clang_getExpansionLocation(location, &mut file, ptr::null_mut(), ptr::null_mut(), &mut offset) };
        // SAFETY: files are compared by identity, null included.
        (!file.is_null() && unsafe { clang_File_isEqual(file, self.main) } != 0).then_some(offset as usize)
    }
}

impl Drop for ParsedSource {
    fn drop(&mut self) {
        // SAFETY: both were created by us and are disposed of once, the unit before its index.
        unsafe {
            clang_disposeTranslationUnit(self.unit);
            clang_disposeIndex(self.index);
        }
    }
}

/// A cursor that cannot outlive its session.
#[derive(Clone, Copy)]
pub(crate) struct Cursor<'s> {
    raw: CXCursor,
    session: PhantomData<&'s ParsedSource>,
}

/// A type that cannot outlive its session.
#[derive(Clone, Copy)]
pub(crate) struct ClangType<'s> {
    raw: CXType,
    session: PhantomData<&'s ParsedSource>,
}

// SAFETY (all calls below): cursors and types are plain values that point into a live unit, which the
// lifetime ties them to; libclang's functions on them read only.
#[allow(clippy::undocumented_unsafe_blocks, reason = "one argument for all of them, given above")]
impl<'s> Cursor<'s> {
    fn wrap(&self, raw: CXCursor) -> Option<Self> {
        (unsafe { clang_Cursor_isNull(raw) } == 0 && unsafe { clang_isInvalid(clang_getCursorKind(raw)) } == 0)
            .then_some(Self { raw, session: PhantomData })
    }

    pub(crate) fn kind(&self) -> CXCursorKind {
        self.raw.kind
    }

    pub(crate) fn name(&self) -> String {
        take(unsafe { clang_getCursorSpelling(self.raw) })
    }

    /// Identity of the thing a declaration cursor declares.
    pub(crate) fn key(&self) -> usize {
        self.raw.data[0] as usize
    }

    pub(crate) fn canonical(&self) -> Self {
        Self { raw: unsafe { clang_getCanonicalCursor(self.raw) }, session: PhantomData }
    }

    pub(crate) fn referenced(&self) -> Option<Self> {
        self.wrap(unsafe { clang_getCursorReferenced(self.raw) })
    }

    pub(crate) fn initializer(&self) -> Option<Self> {
        self.wrap(unsafe { clang_Cursor_getVarDeclInitializer(self.raw) })
    }

    pub(crate) fn is_definition(&self) -> bool {
        unsafe { clang_isCursorDefinition(self.raw) != 0 }
    }

    pub(crate) fn is_inline(&self) -> bool {
        unsafe { clang_Cursor_isFunctionInlined(self.raw) != 0 }
    }

    pub(crate) fn has_attributes(&self) -> bool {
        unsafe { clang_Cursor_hasAttrs(self.raw) != 0 }
    }

    pub(crate) fn storage(&self) -> CX_StorageClass {
        unsafe { clang_Cursor_getStorageClass(self.raw) }
    }

    pub(crate) fn ty(&self) -> ClangType<'s> {
        ClangType { raw: unsafe { clang_getCursorType(self.raw) }, session: PhantomData }
    }

    pub(crate) fn enum_integer(&self) -> ClangType<'s> {
        ClangType { raw: unsafe { clang_getEnumDeclIntegerType(self.raw) }, session: PhantomData }
    }

    pub(crate) fn bit_width(&self) -> Option<u32> {
        u32::try_from(unsafe { clang_getFieldDeclBitWidth(self.raw) }).ok()
    }

    pub(crate) fn field_offset(&self) -> Option<u64> {
        u64::try_from(unsafe { clang_Cursor_getOffsetOfField(self.raw) }).ok()
    }

    pub(crate) fn children(&self) -> Vec<Self> {
        extern "C" fn push(cursor: CXCursor, _: CXCursor, data: CXClientData) -> CXChildVisitResult {
            // `data` is the vector below, which nobody else touches during the visit.
            unsafe { (*data.cast::<Vec<CXCursor>>()).push(cursor) };
            CXChildVisit_Continue
        }
        let mut raw: Vec<CXCursor> = Vec::new();
        unsafe { clang_visitChildren(self.raw, push, (&raw mut raw).cast::<c_void>()) };
        raw.into_iter().map(|raw| Self { raw, session: PhantomData }).collect()
    }
}

#[allow(clippy::undocumented_unsafe_blocks, reason = "as for cursors")]
impl<'s> ClangType<'s> {
    fn with(&self, raw: CXType) -> Self {
        Self { raw, session: PhantomData }
    }

    pub(crate) fn kind(&self) -> CXTypeKind {
        self.raw.kind
    }

    /// Identity of a canonical type, qualifiers included.
    pub(crate) fn key(&self) -> usize {
        self.raw.data[0] as usize
    }

    pub(crate) fn canonical(&self) -> Self {
        self.with(unsafe { clang_getCanonicalType(self.raw) })
    }

    pub(crate) fn spelling(&self) -> String {
        take(unsafe { clang_getTypeSpelling(self.raw) })
    }

    pub(crate) fn size(&self) -> Option<u64> {
        u64::try_from(unsafe { clang_Type_getSizeOf(self.raw) }).ok()
    }

    pub(crate) fn is_const(&self) -> bool {
        unsafe { clang_isConstQualifiedType(self.raw) != 0 }
    }

    pub(crate) fn is_volatile(&self) -> bool {
        unsafe { clang_isVolatileQualifiedType(self.raw) != 0 }
    }

    pub(crate) fn is_variadic(&self) -> bool {
        unsafe { clang_isFunctionTypeVariadic(self.raw) != 0 }
    }

    pub(crate) fn pointee(&self) -> Self {
        self.with(unsafe { clang_getPointeeType(self.raw) })
    }

    pub(crate) fn element(&self) -> Self {
        self.with(unsafe { clang_getArrayElementType(self.raw) })
    }

    pub(crate) fn array_length(&self) -> Option<u64> {
        u64::try_from(unsafe { clang_getArraySize(self.raw) }).ok()
    }

    pub(crate) fn result(&self) -> Self {
        self.with(unsafe { clang_getResultType(self.raw) })
    }

    pub(crate) fn arguments(&self) -> Vec<Self> {
        let count = unsafe { clang_getNumArgTypes(self.raw) };
        (0..count.max(0)).map(|i| self.with(unsafe { clang_getArgType(self.raw, i as c_uint) })).collect()
    }

    pub(crate) fn declaration(&self) -> Cursor<'s> {
        Cursor { raw: unsafe { clang_getTypeDeclaration(self.raw) }, session: PhantomData }
    }

    pub(crate) fn fields(&self) -> Vec<Cursor<'s>> {
        extern "C" fn push(cursor: CXCursor, data: CXClientData) -> CXVisitorResult {
            // `data` is the vector below, which nobody else touches during the visit.
            unsafe { (*data.cast::<Vec<CXCursor>>()).push(cursor) };
            CXVisit_Continue
        }
        let mut raw: Vec<CXCursor> = Vec::new();
        unsafe { clang_Type_visitFields(self.raw, push, (&raw mut raw).cast::<c_void>()) };
        raw.into_iter().map(|raw| Cursor { raw, session: PhantomData }).collect()
    }
}

fn take(string: CXString) -> String {
    // SAFETY: the string is ours until disposed of, which happens once, after copying.
    unsafe {
        let pointer = clang_getCString(string);
        let text = if pointer.is_null() { String::new() } else { CStr::from_ptr(pointer).to_string_lossy().into_owned() };
        clang_disposeString(string);
        text
    }
}
