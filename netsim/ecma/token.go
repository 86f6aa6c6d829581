package ecma

// token is the type of a token.
type token uint8

const (
	tEOF token = iota
	tNumber
	tString
	tTemplate // the backtick that opens a template
	tPrivate  // #name

	// Punctuators
	tLBrace
	tRBrace
	tLParen
	tRParen
	tLBracket
	tRBracket
	tDot
	tEllipsis
	tSemicolon
	tComma
	tColon
	tQuestion
	tOptional // ?.
	tArrow
	tNot
	tTilde
	tIncrement
	tDecrement
	tAssign
	tAssignOp // += and the like
	// Binary operators, with their precedences below
	tNullish
	tOr
	tAnd
	tBitOr
	tBitXor
	tBitAnd
	tEquality
	tRelation
	tShift
	tPlus
	tMinus
	tStar
	tSlash
	tPercent
	tPower

	// Words that may be identifiers
	tName
	tAs
	tAsync
	tAwait
	tFrom
	tGet
	tLet
	tOf
	tSet
	tStatic
	tUsing
	tYield

	// Reserved words
	tBreak
	tCase
	tCatch
	tClass
	tConst
	tContinue
	tDebugger
	tDefault
	tDelete
	tDo
	tElse
	tExport
	tExtends
	tFalse
	tFinally
	tFor
	tFunction
	tIf
	tImport
	tIn
	tInstanceof
	tNew
	tNull
	tReturn
	tSuper
	tSwitch
	tThis
	tThrow
	tTrue
	tTry
	tTypeof
	tVar
	tVoid
	tWhile
	tWith
)

// precedence has 0 for tokens that are not binary operators.
var precedence = [256]uint8{
	tNullish: 1, tOr: 2, tAnd: 3, tBitOr: 4, tBitXor: 5, tBitAnd: 6, tEquality: 7, tRelation: 8, tIn: 8,
	tInstanceof: 8, tShift: 9, tPlus: 10, tMinus: 10, tStar: 11, tSlash: 11, tPercent: 11, tPower: 12,
}

// isIdentifier reports whether the token may be an identifier. Words such as yield are reserved in
// places.
func (t token) isIdentifier() bool { return t >= tName && t <= tYield }

// isWord reports whether the token may be the name of a property.
func (t token) isWord() bool { return t >= tName }

// word returns the token of an identifier or reserved word.
func word(s string) token {
	if len(s) < 2 || len(s) > 10 {
		return tName
	}
	switch s {
	case "as":
		return tAs
	case "async":
		return tAsync
	case "await":
		return tAwait
	case "break":
		return tBreak
	case "case":
		return tCase
	case "catch":
		return tCatch
	case "class":
		return tClass
	case "const":
		return tConst
	case "continue":
		return tContinue
	case "debugger":
		return tDebugger
	case "default":
		return tDefault
	case "delete":
		return tDelete
	case "do":
		return tDo
	case "else":
		return tElse
	case "export":
		return tExport
	case "extends":
		return tExtends
	case "false":
		return tFalse
	case "finally":
		return tFinally
	case "for":
		return tFor
	case "from":
		return tFrom
	case "function":
		return tFunction
	case "get":
		return tGet
	case "if":
		return tIf
	case "import":
		return tImport
	case "in":
		return tIn
	case "instanceof":
		return tInstanceof
	case "let":
		return tLet
	case "new":
		return tNew
	case "null":
		return tNull
	case "of":
		return tOf
	case "return":
		return tReturn
	case "set":
		return tSet
	case "static":
		return tStatic
	case "super":
		return tSuper
	case "switch":
		return tSwitch
	case "this":
		return tThis
	case "throw":
		return tThrow
	case "true":
		return tTrue
	case "try":
		return tTry
	case "typeof":
		return tTypeof
	case "using":
		return tUsing
	case "var":
		return tVar
	case "void":
		return tVoid
	case "while":
		return tWhile
	case "with":
		return tWith
	case "yield":
		return tYield
	}
	return tName
}
