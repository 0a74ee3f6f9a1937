//! Types of the tree, each once.

use super::TreeBuilder;
use crate::clang::ClangType;
use crate::types::{
    CType, CTypeId, CTypeKind, DeclaredBy, FloatKind, IntKind, IntType, Quals, RecordField, RecordId, RecordShape, RecordType,
};
use clang_sys::{
    CXCursor_UnionDecl, CXType_Bool, CXType_Char_S, CXType_Char_U, CXType_Char16, CXType_Char32, CXType_ConstantArray, CXType_Double,
    CXType_Enum, CXType_Float, CXType_FunctionNoProto, CXType_FunctionProto, CXType_IncompleteArray, CXType_Int, CXType_Long,
    CXType_LongDouble, CXType_LongLong, CXType_Pointer, CXType_Record, CXType_SChar, CXType_Short, CXType_UChar, CXType_UInt, CXType_ULong,
    CXType_ULongLong, CXType_UShort, CXType_Unexposed, CXType_VariableArray, CXType_Void, CXType_WChar, CXTypeKind,
};

pub(super) fn int_type(kind: CXTypeKind) -> Option<IntType> {
    let (kind, signed) = match kind {
        CXType_Bool => (IntKind::Bool, false),
        CXType_Char_U | CXType_UChar => (IntKind::Char, false),
        CXType_Char_S | CXType_SChar => (IntKind::Char, true),
        CXType_Char16 | CXType_UShort => (IntKind::Short, false),
        CXType_Short => (IntKind::Short, true),
        CXType_Char32 | CXType_UInt => (IntKind::Int, false),
        CXType_WChar | CXType_Int => (IntKind::Int, true),
        CXType_ULong => (IntKind::Long, false),
        CXType_Long => (IntKind::Long, true),
        CXType_ULongLong => (IntKind::LongLong, false),
        CXType_LongLong => (IntKind::LongLong, true),
        _ => return None,
    };
    Some(IntType { kind, signed })
}

impl<'s> TreeBuilder<'s> {
    pub(super) fn type_id(&mut self, ty: ClangType<'s>) -> CTypeId {
        let ty = ty.canonical();
        if let Some(&id) = self.types.get(&ty.key()) {
            return id;
        }
        let id = CTypeId(self.tables.types.len() as u32);
        self.types.insert(ty.key(), id);
        // libclang crashes when asked for the size of a placeholder type, as the names of builtins have.
        let size = if ty.kind() == CXType_Unexposed { None } else { ty.size() };
        let placeholder = CType { kind: CTypeKind::Other, quals: Quals::default(), size, spelling: ty.spelling() };
        self.tables.types.push(placeholder);
        let kind = self.type_kind(ty);
        let mut quals = Quals { constant: ty.is_const(), volatile: ty.is_volatile() };
        if let CTypeKind::Array(element, _) = kind {
            let element = self.tables.types[element.0 as usize].quals;
            quals = Quals { constant: quals.constant || element.constant, volatile: quals.volatile || element.volatile };
        }
        let slot = &mut self.tables.types[id.0 as usize];
        (slot.kind, slot.quals) = (kind, quals);
        id
    }

    fn type_kind(&mut self, ty: ClangType<'s>) -> CTypeKind {
        if let Some(int) = int_type(ty.kind()) {
            return CTypeKind::Int(int);
        }
        match ty.kind() {
            CXType_Void => CTypeKind::Void,
            CXType_Float => CTypeKind::Float(FloatKind::Float),
            CXType_Double => CTypeKind::Float(FloatKind::Double),
            CXType_LongDouble => CTypeKind::Float(FloatKind::LongDouble),
            CXType_Enum => int_type(ty.declaration().enum_integer().canonical().kind()).map_or(CTypeKind::Other, CTypeKind::Enum),
            CXType_Pointer => CTypeKind::Pointer(self.type_id(ty.pointee())),
            CXType_ConstantArray => CTypeKind::Array(self.type_id(ty.element()), ty.array_length()),
            CXType_IncompleteArray | CXType_VariableArray => CTypeKind::Array(self.type_id(ty.element()), None),
            CXType_FunctionProto | CXType_FunctionNoProto => CTypeKind::Function {
                result: self.type_id(ty.result()),
                params: ty.arguments().into_iter().map(|a| self.type_id(a)).collect(),
                variadic: ty.is_variadic(),
                prototype: ty.kind() == CXType_FunctionProto,
            },
            CXType_Record => CTypeKind::Record(self.record(ty)),
            _ => CTypeKind::Other,
        }
    }

    pub(super) fn record(&mut self, ty: ClangType<'s>) -> RecordId {
        let declaration = ty.declaration();
        let key = declaration.canonical().key();
        if let Some(&id) = self.records.get(&key) {
            return id;
        }
        let id = RecordId(self.tables.records.len() as u32);
        self.records.insert(key, id);
        let shape = if declaration.kind() == CXCursor_UnionDecl { RecordShape::Union } else { RecordShape::Struct };
        let declared = self.session.location(&declaration).map_or(DeclaredBy::Elsewhere, |_| DeclaredBy::Here);
        self.tables.records.push(RecordType { name: declaration.name(), shape, declared, fields: Vec::new() });
        let fields = ty.fields().into_iter().map(|field| {
            let ty = self.type_id(field.ty());
            // libclang names what has no name after its place.
            let name = Some(field.name()).filter(|n| n.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'$'));
            RecordField { name: name.unwrap_or_default(), ty, width: field.bit_width(), offset: field.field_offset() }
        });
        self.tables.records[id.0 as usize].fields = fields.collect();
        id
    }
}
