package ecma

// statement parses a statement. In a list, declarations are allowed too.
func (p *parser) statement(inList bool) {
	p.enter()
	defer p.leave()
	m := p.mark()
	switch p.tok {
	case tLBrace:
		p.block(BlockStatement)
	case tSemicolon:
		p.leaf(EmptyStatement)
	case tVar, tConst:
		p.variables(m)
	case tLet, tUsing, tAwait:
		if inList && p.declares(false) {
			p.variables(m)
		} else {
			p.expressionStatement(m)
		}
	case tFunction:
		p.function(m, FunctionDeclaration, 0)
	case tAsync:
		if t, sameLine := p.peek(); t == tFunction && sameLine {
			p.next()
			p.function(m, FunctionDeclaration, Async)
		} else {
			p.expressionStatement(m)
		}
	case tClass:
		p.class(m, ClassDeclaration)
	case tIf:
		p.ifStatement(m)
	case tFor:
		p.forStatement(m)
	case tWhile:
		p.next()
		p.condition()
		p.statement(false)
		p.finish(m, WhileStatement, 0)
	case tDo:
		p.next()
		p.statement(false)
		p.expect(tWhile)
		p.condition()
		p.accept(tSemicolon)
		p.finish(m, DoWhileStatement, 0)
	case tReturn:
		p.next()
		var flags Flags
		if p.tok != tSemicolon && p.tok != tRBrace && p.tok != tEOF && !p.newline {
			p.expression()
			flags = Argument
		}
		flags |= p.semicolon()
		p.finish(m, ReturnStatement, flags)
	case tBreak, tContinue:
		kind := BreakStatement
		if p.tok == tContinue {
			kind = ContinueStatement
		}
		if p.next(); p.tok.isIdentifier() && !p.newline {
			p.leaf(Identifier)
		}
		p.finish(m, kind, p.semicolon())
	case tThrow:
		p.next()
		p.expression()
		p.finish(m, ThrowStatement, p.semicolon())
	case tTry:
		p.tryStatement(m)
	case tSwitch:
		p.switchStatement(m)
	case tWith:
		p.next()
		p.condition()
		p.statement(false)
		p.finish(m, WithStatement, 0)
	case tDebugger:
		p.next()
		p.finish(m, DebuggerStatement, p.semicolon())
	case tImport:
		if t, _ := p.peek(); t == tLParen || t == tDot {
			p.expressionStatement(m)
		} else {
			p.importDeclaration(m)
		}
	case tExport:
		p.exportDeclaration(m)
	default:
		p.expressionStatement(m)
	}
}

// expressionStatement parses an expression or a labeled statement.
func (p *parser) expressionStatement(m mark) {
	p.expression()
	if last := len(p.nodes) - 1; last == int(m.first) && p.nodes[last].Kind == Identifier && p.accept(tColon) {
		p.statement(false)
		p.finish(m, LabeledStatement, 0)
		return
	}
	p.finish(m, ExpressionStatement, p.semicolon())
}

// block parses statements in braces.
func (p *parser) block(kind Kind) {
	m := p.mark()
	p.expect(tLBrace)
	p.statements(m, kind)
}

// statements parses the rest of a block.
func (p *parser) statements(m mark, kind Kind) {
	for !p.accept(tRBrace) {
		p.statement(true)
	}
	p.finish(m, kind, 0)
}

// condition parses an expression in parentheses that belong to the statement.
func (p *parser) condition() {
	p.expect(tLParen)
	p.expression()
	p.expect(tRParen)
}

// ifStatement parses chains of else if in a loop, since generated code has long ones.
func (p *parser) ifStatement(m mark) {
	outermost := len(p.open)
	p.open = append(p.open, m)
	for {
		p.next()
		p.condition()
		p.statement(false)
		if !p.accept(tElse) {
			break
		}
		if p.tok != tIf {
			p.statement(false)
			break
		}
		p.open = append(p.open, p.mark())
	}
	p.finishOpen(outermost, IfStatement)
}

// declares reports whether let, using or await using begins a declaration.
func (p *parser) declares(inFor bool) bool {
	switch p.tok {
	case tLet:
		t, _ := p.peek()
		return t.isIdentifier() || t == tLBracket || t == tLBrace
	case tUsing:
		return p.usingDeclares(inFor)
	case tAwait:
		ahead := p.lexer
		if ahead.next(); !p.async || ahead.tok != tUsing || ahead.newline {
			return false
		}
		behind := p.lexer
		p.lexer = ahead
		declares := p.usingDeclares(inFor)
		p.lexer = behind
		return declares
	}
	return p.tok == tVar || p.tok == tConst
}

// usingDeclares: for (using of x) iterates with a variable named using.
func (p *parser) usingDeclares(inFor bool) bool {
	first, second := p.peekTwo()
	if inFor && first == tOf {
		return second == tAssign || second == tSemicolon || second == tColon
	}
	return first.isIdentifier()
}

// variables parses a declaration with its semicolon.
func (p *parser) variables(m mark) {
	p.declarators(m)
	flags, declaration := p.semicolon(), &p.nodes[len(p.nodes)-1]
	declaration.End, declaration.Flags = uint32(p.prevEnd), flags
}

// declarators parses a declaration without its semicolon.
func (p *parser) declarators(m mark) {
	if p.accept(tAwait) {
		p.suspends = true
	}
	p.next()
	for {
		d := p.mark()
		p.bindingTarget()
		if p.accept(tAssign) {
			p.assignment()
		}
		p.finish(d, VariableDeclarator, 0)
		if !p.accept(tComma) {
			break
		}
	}
	p.finish(m, VariableDeclaration, 0)
}

func (p *parser) forStatement(m mark) {
	p.next()
	if p.accept(tAwait) {
		p.suspends = true
	}
	p.expect(tLParen)
	switch init := p.mark(); {
	case p.tok == tSemicolon:
		p.absent()
	case p.declares(true):
		p.in = false
		p.declarators(init)
		p.in = true
	default:
		p.in = false
		p.expression()
		p.in = true
		if p.tok == tOf || p.tok == tIn {
			p.toPattern(len(p.nodes) - 1)
		}
	}
	kind := ForStatement
	switch {
	case p.accept(tOf):
		kind = ForOfStatement
		p.assignment()
	case p.accept(tIn):
		kind = ForInStatement
		p.expression()
	default:
		for _, end := range []token{tSemicolon, tRParen} {
			if p.expect(tSemicolon); p.tok == end {
				p.absent()
			} else {
				p.expression()
			}
		}
	}
	p.expect(tRParen)
	p.statement(false)
	p.finish(m, kind, 0)
}

// absent appends a node without width for an absent part of a for statement.
func (p *parser) absent() {
	at := uint32(p.start)
	p.append(Node{Start: at, End: at, First: uint32(len(p.nodes)), Kind: EmptyStatement})
}

func (p *parser) tryStatement(m mark) {
	p.next()
	p.block(BlockStatement)
	var flags Flags
	if c := p.mark(); p.accept(tCatch) {
		if p.accept(tLParen) {
			p.bindingTarget()
			p.expect(tRParen)
		}
		p.block(BlockStatement)
		p.finish(c, CatchClause, 0)
	}
	if p.accept(tFinally) {
		p.block(BlockStatement)
		flags = Finally
	}
	p.finish(m, TryStatement, flags)
}

func (p *parser) switchStatement(m mark) {
	p.next()
	p.condition()
	p.expect(tLBrace)
	for !p.accept(tRBrace) {
		c := p.mark()
		if !p.accept(tDefault) {
			p.expect(tCase)
			p.expression()
		}
		p.expect(tColon)
		for p.tok != tCase && p.tok != tDefault && p.tok != tRBrace {
			p.statement(true)
		}
		p.finish(c, SwitchCase, 0)
	}
	p.finish(m, SwitchStatement, 0)
}
