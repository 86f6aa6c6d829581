package ecma

// function parses a function from its keyword, or a method from its parameters.
func (p *parser) function(m mark, kind Kind, flags Flags) {
	p.enter()
	if p.tok == tFunction {
		p.next()
		if p.accept(tStar) {
			flags |= Generator
		}
		if p.tok.isIdentifier() {
			p.leaf(Identifier)
		}
	}
	outer := p.context
	p.context = context{async: flags&Async != 0, generator: flags&Generator != 0, in: true}
	params := p.mark()
	p.expect(tLParen)
	for !p.accept(tRParen) {
		p.bindingElement()
		if p.tok != tRParen {
			p.expect(tComma)
		}
	}
	p.finish(params, Params, 0)
	p.body()
	if p.suspends {
		flags |= Suspends
	}
	p.context = outer
	p.finish(m, kind, flags)
	p.leave()
}

// body parses the block of a function.
func (p *parser) body() {
	p.in = true
	m := p.mark()
	p.expect(tLBrace)
	p.directives()
	p.statements(m, BlockStatement)
}

// bindingElement parses a pattern with its default, or a rest element.
func (p *parser) bindingElement() {
	m := p.mark()
	if p.accept(tEllipsis) {
		p.bindingTarget()
		p.finish(m, RestElement, 0)
		return
	}
	p.bindingTarget()
	if p.accept(tAssign) {
		p.assignment()
		p.finish(m, AssignmentPattern, 0)
	}
}

// bindingTarget parses a name or a destructuring pattern.
func (p *parser) bindingTarget() {
	p.enter()
	defer p.leave()
	outer := p.in
	p.in = true
	m := p.mark()
	switch {
	case p.tok.isIdentifier():
		p.leaf(Identifier)
	case p.accept(tLBracket):
		for !p.accept(tRBracket) {
			if p.accept(tComma) {
				continue
			}
			if p.bindingElement(); p.tok != tRBracket {
				p.expect(tComma)
			}
		}
		p.finish(m, ArrayPattern, 0)
	case p.accept(tLBrace):
		for !p.accept(tRBrace) {
			p.bindingProperty()
			if p.tok != tRBrace {
				p.expect(tComma)
			}
		}
		p.finish(m, ObjectPattern, 0)
	default:
		p.unexpected()
	}
	p.in = outer
}

func (p *parser) bindingProperty() {
	m := p.mark()
	if p.tok == tEllipsis {
		p.bindingElement()
		return
	}
	p.key()
	if p.accept(tColon) {
		p.bindingElement()
	} else if p.accept(tAssign) {
		p.assignment()
		p.finish(m, AssignmentPattern, 0)
	}
	p.finish(m, Property, 0)
}

// key parses the name of a property or member.
func (p *parser) key() {
	switch {
	case p.tok == tString || p.tok == tNumber:
		p.leaf(Literal)
	case p.tok == tLBracket:
		p.computed()
	default:
		p.propertyName()
	}
}

// memberName parses modifiers and the name of a member. A modifier is a name until another name
// follows.
func (p *parser) memberName(m mark) (flags Flags) {
	for {
		if p.accept(tStar) {
			p.key()
			return flags | Generator
		}
		t := p.tok
		p.key()
		switch t {
		case tAsync, tGet, tSet, tStatic:
		default:
			return flags
		}
		switch p.tok {
		case tLParen, tColon, tComma, tRBrace, tAssign, tSemicolon, tEOF:
			return flags
		}
		// In a class, a line break after async ends a field of that name; get and set need a name.
		if p.newline && (t == tAsync || p.tok == tStar && t != tStatic) {
			return flags
		}
		p.nodes = p.nodes[:m.first]
		if t == tAsync {
			flags |= Async
		}
		if t == tStatic && p.tok == tLBrace {
			return flags
		}
	}
}

// toPattern renames an expression that turns out to be the target of an assignment.
func (p *parser) toPattern(n int) {
	node := &p.nodes[n]
	switch node.Kind {
	case ArrayExpression:
		node.Kind = ArrayPattern
		p.patternChildren(n)
	case ObjectExpression:
		node.Kind = ObjectPattern
		p.patternChildren(n)
	case AssignmentExpression:
		node.Kind = AssignmentPattern
	case SpreadElement:
		node.Kind = RestElement
		p.patternChildren(n)
	case Property:
		if int(node.First) < n-1 { // with a value
			p.toPattern(n - 1)
		}
	}
}

// patternChildren renames the children of a pattern.
func (p *parser) patternChildren(n int) {
	first := int(p.nodes[n].First)
	for child := n - 1; child >= first; child = int(p.nodes[child].First) - 1 {
		p.toPattern(child)
	}
}

func (p *parser) class(m mark, kind Kind) {
	p.next()
	if p.tok.isIdentifier() {
		p.leaf(Identifier)
	}
	if p.accept(tExtends) {
		superclass := p.mark()
		p.primary()
		p.suffixes(superclass, true)
	}
	outer := p.in
	p.in = true
	body := p.mark()
	p.expect(tLBrace)
	for !p.accept(tRBrace) {
		if !p.accept(tSemicolon) {
			p.member()
		}
	}
	p.finish(body, ClassBody, 0)
	p.in = outer
	p.finish(m, kind, 0)
}

func (p *parser) member() {
	m := p.mark()
	flags := p.memberName(m)
	if len(p.nodes) == int(m.first) { // static {
		outer := p.context
		p.context = context{in: true}
		p.next()
		p.statements(m, StaticBlock)
		p.context = outer
		return
	}
	if p.tok == tLParen {
		p.function(p.mark(), FunctionExpression, flags)
		p.finish(m, MethodDefinition, 0)
		return
	}
	if p.accept(tAssign) {
		outer := p.context
		p.context = context{in: true}
		p.assignment()
		p.context = outer
	}
	p.finish(m, PropertyDefinition, p.semicolon())
}
