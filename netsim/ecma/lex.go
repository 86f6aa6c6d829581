package ecma

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	lineSeparator      = '\u2028'
	paragraphSeparator = '\u2029'
)

// lexer splits a source into tokens, one at a time. Copying it saves its place.
//
// A slash is an operator until the parser asks for a regular expression. A right brace is a
// punctuator until it asks for the rest of a template. So the lexer does not guess.
type lexer struct {
	src    string
	module bool // <!-- and --> are operators

	tok        token
	start, pos int  // the token's span
	prevEnd    int  // the end of the token before
	newline    bool // a line terminator precedes the token
}

// Classes of bytes, for the lexer's loops.
const (
	cIdentifier = 1 << iota // part of an ASCII identifier
	cDigit
	cSpace
	cLine   // \n, \r, or the first byte of U+2028 and U+2029
	cString // ends the fast loop in strings
	cLower
)

var class = func() (table [256]uint8) {
	for c := range table {
		b := byte(c)
		switch {
		case b >= 'a' && b <= 'z':
			table[c] = cIdentifier | cLower
		case b >= 'A' && b <= 'Z' || b == '_' || b == '$':
			table[c] = cIdentifier
		case b >= '0' && b <= '9':
			table[c] = cIdentifier | cDigit
		case b == ' ' || b == '\t' || b == '\v' || b == '\f':
			table[c] = cSpace
		case b == '\n' || b == '\r':
			table[c] = cLine | cString
		case b == 0xE2:
			table[c] = cLine
		case b == '"' || b == '\'' || b == '\\':
			table[c] = cString
		}
	}
	return table
}()

// fail ends the parse with an error; Parse recovers it.
func (l *lexer) fail(offset int, reason string) {
	panic(newError(l.src, min(offset, len(l.src)), reason))
}

// at returns the byte at an offset, and 0 behind the end.
func (l *lexer) at(i int) byte {
	if i < len(l.src) {
		return l.src[i]
	}
	return 0
}

// lineEnd returns the length of a line terminator at an offset, or 0.
func (l *lexer) lineEnd(i int) int {
	switch c := l.src[i]; {
	case c == '\n' || c == '\r':
		return 1
	case c == 0xE2 && (strings.HasPrefix(l.src[i:], "\u2028") || strings.HasPrefix(l.src[i:], "\u2029")):
		return 3
	}
	return 0
}

// skipSpace moves to the next token and notes line terminators.
func (l *lexer) skipSpace() {
	for l.pos < len(l.src) {
		c := l.src[l.pos]
		switch {
		case class[c]&cSpace != 0:
			l.pos++
		case c == '\n' || c == '\r':
			l.newline = true
			l.pos++
		case c == '/' && l.at(l.pos+1) == '/':
			l.skipLine()
		case c == '/' && l.at(l.pos+1) == '*':
			l.skipBlockComment()
		case c == '<' && !l.module && strings.HasPrefix(l.src[l.pos:], "<!--"):
			l.skipLine()
		case c == '-' && !l.module && l.newline && strings.HasPrefix(l.src[l.pos:], "-->"):
			l.skipLine()
		case c < utf8.RuneSelf:
			return
		default:
			r, n := utf8.DecodeRuneInString(l.src[l.pos:])
			if r == lineSeparator || r == paragraphSeparator {
				l.newline = true
			} else if !isSpace(r) {
				return
			}
			l.pos += n
		}
	}
}

// isSpace reports whether a rune above ASCII is white space.
func isSpace(r rune) bool { return r == '\u00A0' || r == '\uFEFF' || unicode.Is(unicode.Zs, r) }

// skipLine moves to the end of the line.
func (l *lexer) skipLine() {
	for l.pos < len(l.src) && (class[l.src[l.pos]]&cLine == 0 || l.lineEnd(l.pos) == 0) {
		l.pos++
	}
}

func (l *lexer) skipBlockComment() {
	n := strings.Index(l.src[l.pos+2:], "*/")
	if n < 0 {
		l.fail(l.pos, "unterminated comment")
	}
	end := l.pos + 2 + n
	for l.pos += 2; l.pos < end && !l.newline; l.pos++ {
		l.newline = class[l.src[l.pos]]&cLine != 0 && l.lineEnd(l.pos) != 0
	}
	l.pos = end + 2
}

// next reads the next token.
func (l *lexer) next() {
	l.prevEnd, l.newline = l.pos, false
	l.scan()
}

func (l *lexer) scan() {
	l.skipSpace()
	l.start = l.pos
	if l.pos == len(l.src) {
		l.tok = tEOF
		return
	}
	c := l.src[l.pos]
	switch {
	case class[c]&cDigit != 0 || c == '.' && class[l.at(l.pos+1)]&cDigit != 0:
		l.number()
	case class[c]&cIdentifier != 0 || c >= utf8.RuneSelf || c == '\\':
		l.identifier()
	case c == '"' || c == '\'':
		l.str(c)
	case c == '`':
		l.pos++
		l.tok = tTemplate
	case c == '#':
		l.pos++
		if l.identifier(); l.pos == l.start+1 {
			l.fail(l.start, "unexpected #")
		}
		l.tok = tPrivate
	default:
		l.punctuator(c)
	}
}

func (l *lexer) identifier() {
	begin, plain := l.pos, true
	for {
		for l.pos < len(l.src) && class[l.src[l.pos]]&cIdentifier != 0 {
			l.pos++
		}
		c := l.at(l.pos)
		if c == '\\' {
			l.unicodeEscape()
		} else if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(l.src[l.pos:])
			// Later versions of Unicode have more letters, so each rune that is not a space is one.
			if r == lineSeparator || r == paragraphSeparator || isSpace(r) {
				break
			}
			l.pos += n
		} else {
			break
		}
		plain = false
	}
	l.tok = tName
	// A word with an escape is not a keyword.
	if plain && class[l.at(begin)]&cLower != 0 {
		l.tok = word(l.src[begin:l.pos])
	}
}

// unicodeEscape skips \uXXXX or \u{X…}.
func (l *lexer) unicodeEscape() {
	begin := l.pos
	if l.pos++; l.at(l.pos) != 'u' {
		l.fail(begin, `unexpected \`)
	}
	if l.pos++; l.at(l.pos) == '{' {
		n := strings.IndexByte(l.src[l.pos:min(len(l.src), l.pos+100)], '}')
		if n < 0 {
			l.fail(begin, "unterminated escape")
		}
		l.pos += n + 1
		return
	}
	if l.pos += 4; l.pos > len(l.src) {
		l.fail(begin, "unterminated escape")
	}
}

// number reads a numeric literal of any form. Misplaced separators are left to the browser.
func (l *lexer) number() {
	l.tok = tNumber
	digits := func() {
		for l.pos < len(l.src) && (class[l.src[l.pos]]&cDigit != 0 || l.src[l.pos] == '_') {
			l.pos++
		}
	}
	if l.src[l.pos] == '0' {
		switch l.at(l.pos+1) | 0x20 {
		case 'x', 'b', 'o':
			for l.pos++; l.pos < len(l.src) && class[l.src[l.pos]]&cIdentifier != 0; {
				l.pos++
			}
			return
		}
	}
	digits()
	// 017.a is a property of an octal number, and 08.5 is a fraction.
	if text := l.src[l.start:l.pos]; len(text) > 1 && text[0] == '0' && !strings.ContainsAny(text, "89_") {
		return
	}
	if l.at(l.pos) == 'n' {
		l.pos++
		return
	}
	if l.at(l.pos) == '.' {
		l.pos++
		digits()
	}
	if l.at(l.pos)|0x20 == 'e' {
		l.pos++
		if c := l.at(l.pos); c == '+' || c == '-' {
			l.pos++
		}
		digits()
	}
	if class[l.at(l.pos)]&cIdentifier != 0 {
		l.fail(l.pos, "a letter follows a number")
	}
}

func (l *lexer) str(quote byte) {
	l.tok = tString
	for l.pos++; l.pos < len(l.src); l.pos++ {
		c := l.src[l.pos]
		if class[c]&cString == 0 {
			continue
		}
		switch {
		case c == quote:
			l.pos++
			return
		case c == '\\':
			if l.pos++; l.at(l.pos) == '\r' && l.at(l.pos+1) == '\n' {
				l.pos++
			}
		case c == '\n' || c == '\r':
			l.fail(l.start, "unterminated string")
		}
	}
	l.fail(l.start, "unterminated string")
}

// templateText skips the text of a template from pos. It reports whether an expression follows.
func (l *lexer) templateText() bool {
	for ; l.pos < len(l.src); l.pos++ {
		switch l.src[l.pos] {
		case '`':
			l.pos++
			return false
		case '\\':
			l.pos++
		case '$':
			if l.at(l.pos+1) == '{' {
				l.pos += 2
				return true
			}
		}
	}
	l.fail(l.start, "unterminated template")
	return false
}

// regexp reads the regular expression that begins with the current token, a slash.
func (l *lexer) regexp() {
	inClass := false
	for l.pos = l.start + 1; ; l.pos++ {
		if l.pos >= len(l.src) || class[l.src[l.pos]]&cLine != 0 && l.lineEnd(l.pos) != 0 {
			l.fail(l.start, "unterminated regular expression")
		}
		switch l.src[l.pos] {
		case '\\':
			if l.pos+1 < len(l.src) && l.lineEnd(l.pos+1) == 0 {
				l.pos++
			}
		case '[':
			inClass = true
		case ']':
			inClass = false
		case '/':
			if !inClass {
				l.pos++
				l.identifier() // flags
				return
			}
		}
	}
}

// Tokens of punctuators by their first byte; tEOF: none begins so.
var (
	single = [256]token{
		'{': tLBrace, '}': tRBrace, '(': tLParen, ')': tRParen, '[': tLBracket, ']': tRBracket, ';': tSemicolon,
		',': tComma, ':': tColon, '~': tTilde, '.': tDot, '?': tQuestion, '=': tAssign, '!': tNot, '+': tPlus,
		'-': tMinus, '*': tStar, '/': tSlash, '%': tPercent, '^': tBitXor, '&': tBitAnd, '|': tBitOr,
		'<': tRelation, '>': tRelation,
	}
	doubled = [256]token{ // the byte twice
		'?': tNullish, '+': tIncrement, '-': tDecrement, '*': tPower, '&': tAnd, '|': tOr, '<': tShift, '>': tShift,
	}
	withEqual = [256]token{ // the byte and '='
		'=': tEquality, '!': tEquality, '<': tRelation, '>': tRelation, '+': tAssignOp, '-': tAssignOp,
		'*': tAssignOp, '/': tAssignOp, '%': tAssignOp, '^': tAssignOp, '&': tAssignOp, '|': tAssignOp,
	}
)

// punctuator reads the longest punctuator.
func (l *lexer) punctuator(c byte) {
	c1, c2, c3 := l.at(l.pos+1), l.at(l.pos+2), l.at(l.pos+3)
	tok, n := single[c], 1
	switch {
	case tok == tEOF:
		l.fail(l.pos, "unexpected character")
	case c == '.' && c1 == '.' && c2 == '.':
		tok, n = tEllipsis, 3
	case c == '?' && c1 == '.' && class[c2]&cDigit == 0:
		tok, n = tOptional, 2
	case c == '=' && c1 == '>':
		tok, n = tArrow, 2
	case c1 == '=' && withEqual[c] != tEOF:
		if tok, n = withEqual[c], 2; tok == tEquality && c2 == '=' {
			n = 3
		}
	case c1 == c && doubled[c] != tEOF:
		tok, n = doubled[c], 2
		next := c2
		if c == '>' && c2 == '>' {
			n, next = 3, c3
		}
		if next == '=' && tok != tIncrement && tok != tDecrement {
			tok, n = tAssignOp, n+1
		}
	}
	l.tok = tok
	l.pos += n
}
