package ecma

// expression parses assignments with commas between.
func (p *parser) expression() {
	m := p.mark()
	p.assignment()
	if p.tok != tComma {
		return
	}
	for p.accept(tComma) {
		p.assignment()
	}
	p.finish(m, SequenceExpression, 0)
}

// assignment parses one expression without commas.
func (p *parser) assignment() {
	p.enter()
	defer p.leave()
	m := p.mark()
	if p.tok == tYield && p.generator {
		p.yield(m)
		return
	}
	p.binary(0)
	switch {
	case p.isArrow():
	case p.tok == tAssign:
		p.toPattern(len(p.nodes) - 1)
		p.next()
		p.assignment()
		p.finish(m, AssignmentExpression, 0)
	case p.tok == tAssignOp:
		p.next()
		p.assignment()
		p.finish(m, AssignmentExpression, 0)
	case p.tok == tQuestion:
		p.conditional(m)
	}
}

// conditional parses chains of conditions in a loop, since generated code has long ones.
func (p *parser) conditional(m mark) {
	outermost := len(p.open)
	p.open = append(p.open, m)
	for p.accept(tQuestion) {
		outer := p.in
		p.in = true
		p.assignment()
		p.in = outer
		p.expect(tColon)
		next := p.mark()
		if p.tok == tYield && p.generator {
			p.assignment()
			break
		}
		p.binary(0)
		switch {
		case p.isArrow():
		case p.tok == tAssign, p.tok == tAssignOp:
			if p.tok == tAssign {
				p.toPattern(len(p.nodes) - 1)
			}
			p.next()
			p.assignment()
			p.finish(next, AssignmentExpression, 0)
		case p.tok == tQuestion:
			p.open = append(p.open, next)
			continue
		}
		break
	}
	p.finishOpen(outermost, ConditionalExpression)
}

// isArrow reports whether the last node is an arrow function. No operator may follow it.
func (p *parser) isArrow() bool { return p.nodes[len(p.nodes)-1].Kind == ArrowFunctionExpression }

func (p *parser) yield(m mark) {
	p.suspends = true
	p.next()
	var flags Flags
	if p.tok == tStar && !p.newline {
		p.next()
		flags = Argument
	} else if !p.newline && p.beginsExpression() {
		flags = Argument
	}
	if flags != 0 {
		p.assignment()
	}
	p.finish(m, YieldExpression, flags)
}

// beginsExpression reports whether yield has an argument.
func (p *parser) beginsExpression() bool {
	switch p.tok {
	case tEOF, tRParen, tRBracket, tRBrace, tComma, tSemicolon, tColon, tQuestion, tIn:
		return false
	}
	return true
}

// binary parses operators that bind more strongly than the given precedence.
func (p *parser) binary(above uint8) {
	m := p.mark()
	p.unary()
	for {
		prec := precedence[p.tok]
		if prec <= above || p.tok == tIn && !p.in || p.isArrow() {
			return
		}
		kind := BinaryExpression
		if p.tok <= tAnd {
			kind = LogicalExpression
		}
		if p.tok == tPower {
			prec-- // from the right
		}
		p.next()
		p.enter()
		p.binary(prec)
		p.leave()
		p.finish(m, kind, 0)
	}
}

func (p *parser) unary() {
	m := p.mark()
	kind := UnaryExpression
	switch p.tok {
	case tNot, tTilde, tPlus, tMinus, tTypeof, tVoid, tDelete:
	case tIncrement, tDecrement:
		kind = UpdateExpression
	case tAwait:
		if p.async {
			kind = AwaitExpression
			p.suspends = true
			break
		}
		fallthrough
	default:
		p.postfix(m)
		return
	}
	p.enter()
	p.next()
	p.unary()
	p.finish(m, kind, 0)
	p.leave()
}

func (p *parser) postfix(m mark) {
	p.primary()
	if p.isArrow() {
		return
	}
	p.suffixes(m, true)
	if (p.tok == tIncrement || p.tok == tDecrement) && !p.newline && !p.isArrow() {
		p.next()
		p.finish(m, UpdateExpression, 0)
	}
}

// suffixes parses properties, calls and templates behind an expression.
func (p *parser) suffixes(m mark, calls bool) {
	// async(a, b) may become the head of an arrow function.
	async := calls && len(p.nodes) == int(m.first)+1 && p.src[m.start:p.prevEnd] == "async"
	chain := false
	for {
		switch p.tok {
		case tDot:
			p.next()
			p.propertyName()
			p.finish(m, MemberExpression, 0)
		case tOptional:
			chain = true
			switch p.next(); p.tok {
			case tLParen:
				p.arguments()
				p.finish(m, CallExpression, 0)
			case tLBracket:
				p.computed()
				p.finish(m, MemberExpression, 0)
			default:
				p.propertyName()
				p.finish(m, MemberExpression, 0)
			}
		case tLBracket:
			p.computed()
			p.finish(m, MemberExpression, 0)
		case tLParen:
			if !calls {
				return
			}
			params, sameLine := p.mark(), !p.newline
			p.arguments()
			if async && sameLine && p.tok == tArrow && !p.newline {
				p.nodes[m.first].Kind = Modifier
				p.params(params)
				p.arrow(m, Async)
				return
			}
			p.finish(m, CallExpression, 0)
		case tTemplate:
			p.template()
			p.finish(m, TaggedTemplateExpression, 0)
		default:
			if chain {
				p.finish(m, ChainExpression, 0)
			}
			return
		}
		async = false
	}
}

// propertyName parses a name after a dot.
func (p *parser) propertyName() {
	switch {
	case p.tok.isWord():
		p.leaf(Identifier)
	case p.tok == tPrivate:
		p.leaf(PrivateIdentifier)
	default:
		p.unexpected()
	}
}

// computed parses an expression in brackets.
func (p *parser) computed() {
	outer := p.in
	p.in = true
	p.expect(tLBracket)
	p.expression()
	p.expect(tRBracket)
	p.in = outer
}

// arguments parses the arguments of a call.
func (p *parser) arguments() {
	p.expect(tLParen)
	p.elements(tRParen)
}

// elements parses expressions and spreads up to the closing token. Holes are allowed.
func (p *parser) elements(end token) {
	outer := p.in
	p.in = true
	for !p.accept(end) {
		if end == tRBracket && p.accept(tComma) {
			continue
		}
		if m := p.mark(); p.accept(tEllipsis) {
			p.assignment()
			p.finish(m, SpreadElement, 0)
		} else {
			p.assignment()
		}
		if p.tok != end {
			p.expect(tComma)
		}
	}
	p.in = outer
}

func (p *parser) primary() {
	m := p.mark()
	switch p.tok {
	case tNumber, tString, tTrue, tFalse, tNull:
		p.leaf(Literal)
	case tSlash, tAssignOp:
		if p.src[p.start] != '/' {
			p.unexpected()
		}
		p.regexp()
		p.leaf(Literal)
	case tThis:
		p.leaf(ThisExpression)
	case tSuper:
		p.leaf(Super)
	case tPrivate:
		p.leaf(PrivateIdentifier)
	case tLParen:
		p.parentheses(m)
	case tLBracket:
		p.next()
		p.elements(tRBracket)
		p.finish(m, ArrayExpression, 0)
	case tLBrace:
		p.object(m)
	case tFunction:
		p.function(m, FunctionExpression, 0)
	case tClass:
		p.class(m, ClassExpression)
	case tNew:
		p.newExpression(m)
	case tImport:
		p.importExpression(m)
	case tTemplate:
		p.template()
	default:
		if !p.tok.isIdentifier() {
			p.unexpected()
		}
		p.identifier(m)
	}
}

// identifier parses an identifier, an async function, or an arrow function with one plain
// parameter.
func (p *parser) identifier(m mark) {
	async := p.tok == tAsync
	if async {
		switch first, second := p.peekTwo(); {
		case first == tFunction:
			p.next()
			p.function(m, FunctionExpression, Async)
			return
		case first.isIdentifier() && second == tArrow:
			p.leaf(Modifier)
			params := p.mark()
			p.leaf(Identifier)
			p.finish(params, Params, 0)
			p.arrow(m, Async)
			return
		}
	}
	p.leaf(Identifier)
	if p.tok == tArrow && !p.newline {
		p.finish(m, Params, 0)
		p.arrow(m, 0)
	}
}

// parentheses parses an expression in parentheses, or the parameters of an arrow function.
func (p *parser) parentheses(m mark) {
	outer := p.in
	p.in = true
	p.next()
	inner, count, onlyParams := p.mark(), 0, p.tok == tRParen
	innerEnd := p.prevEnd
	for p.tok != tRParen {
		if rest := p.mark(); p.accept(tEllipsis) {
			p.bindingTarget()
			p.finish(rest, RestElement, 0)
			onlyParams = true
		} else {
			p.assignment()
		}
		count++
		innerEnd = p.prevEnd
		if p.tok != tRParen {
			p.expect(tComma)
			onlyParams = onlyParams || p.tok == tRParen
		}
	}
	p.next()
	p.in = outer
	if p.tok == tArrow && !p.newline {
		p.params(m)
		p.arrow(m, 0)
		return
	}
	if onlyParams {
		p.unexpected()
	}
	if count > 1 {
		p.append(Node{inner.start, uint32(innerEnd), inner.first, SequenceExpression, 0})
	}
	p.finish(m, ParenthesizedExpression, 0)
}

// params appends the node of parameters that were parsed as expressions.
func (p *parser) params(m mark) {
	p.finish(m, Params, 0)
	p.patternChildren(len(p.nodes) - 1)
}

// arrow parses an arrow function from the arrow.
func (p *parser) arrow(m mark, flags Flags) {
	p.next()
	outer := p.context
	p.context = context{async: flags&Async != 0, in: outer.in}
	// A module's await is an operator outside functions only, and reserved inside them.
	if p.tok == tLBrace {
		p.body()
	} else {
		p.assignment()
		flags |= Expression
	}
	if p.suspends {
		flags |= Suspends
	}
	p.context = outer
	p.finish(m, ArrowFunctionExpression, flags)
}

func (p *parser) newExpression(m mark) {
	p.next()
	if p.accept(tDot) {
		// The word new is a name here, as in ESTree.
		p.append(Node{m.start, m.start + uint32(len("new")), m.first, Identifier, 0})
		p.propertyName()
		p.finish(m, MetaProperty, 0)
		return
	}
	p.enter()
	callee := p.mark()
	p.primary()
	if !p.isArrow() {
		p.suffixes(callee, false)
	}
	if p.tok == tLParen {
		p.arguments()
	}
	p.finish(m, NewExpression, 0)
	p.leave()
}

func (p *parser) importExpression(m mark) {
	p.next()
	if p.accept(tDot) {
		p.append(Node{m.start, m.start + uint32(len("import")), m.first, Identifier, 0})
		p.propertyName()
		p.finish(m, MetaProperty, 0)
		return
	}
	p.arguments()
	p.finish(m, ImportExpression, 0)
}

// template parses a template literal from its backtick.
func (p *parser) template() {
	m := p.mark()
	outer := p.in
	p.in = true
	for p.templateText() {
		p.next()
		p.expression()
		if p.tok != tRBrace {
			p.unexpected()
		}
		p.pos = p.start + 1
	}
	p.in = outer
	p.next()
	p.finish(m, TemplateLiteral, 0)
}

func (p *parser) object(m mark) {
	outer := p.in
	p.in = true
	p.next()
	for !p.accept(tRBrace) {
		p.property()
		if p.tok != tRBrace {
			p.expect(tComma)
		}
	}
	p.in = outer
	p.finish(m, ObjectExpression, 0)
}

func (p *parser) property() {
	m := p.mark()
	if p.accept(tEllipsis) {
		p.assignment()
		p.finish(m, SpreadElement, 0)
		return
	}
	flags := p.memberName(m)
	switch {
	case p.tok == tLParen:
		p.function(p.mark(), FunctionExpression, flags)
	case p.accept(tColon):
		p.assignment()
	case p.tok == tAssign: // {a = 1}, valid in patterns
		p.next()
		p.assignment()
		p.finish(m, AssignmentPattern, 0)
	}
	p.finish(m, Property, 0)
}
