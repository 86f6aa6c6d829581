package ecma

func (p *parser) importDeclaration(m mark) {
	if !p.module {
		p.fail(p.start, "import in a script")
	}
	p.next()
	if p.tok != tString {
		if s := p.mark(); p.tok.isIdentifier() {
			p.leaf(Identifier)
			p.finish(s, ImportDefaultSpecifier, 0)
			if p.tok != tFrom {
				p.expect(tComma)
			}
		}
		switch s := p.mark(); {
		case p.accept(tStar):
			p.expect(tAs)
			p.leaf(Identifier)
			p.finish(s, ImportNamespaceSpecifier, 0)
		case p.tok == tLBrace:
			p.specifiers(ImportSpecifier)
		}
		p.expect(tFrom)
	}
	p.source()
	p.finish(m, ImportDeclaration, p.semicolon())
}

// specifiers parses names in braces.
func (p *parser) specifiers(kind Kind) {
	p.expect(tLBrace)
	for !p.accept(tRBrace) {
		m := p.mark()
		p.moduleName()
		if p.accept(tAs) {
			p.moduleName()
		}
		p.finish(m, kind, 0)
		if p.tok != tRBrace {
			p.expect(tComma)
		}
	}
}

// moduleName parses the name of an import or export: any word or a string.
func (p *parser) moduleName() {
	switch {
	case p.tok == tString:
		p.leaf(Literal)
	case p.tok.isWord():
		p.leaf(Identifier)
	default:
		p.unexpected()
	}
}

// source parses the name of a module and its attributes.
func (p *parser) source() {
	if p.tok != tString {
		p.unexpected()
	}
	p.leaf(Literal)
	if !p.accept(tWith) {
		return
	}
	p.expect(tLBrace)
	for !p.accept(tRBrace) {
		m := p.mark()
		p.moduleName()
		p.expect(tColon)
		if p.tok != tString {
			p.unexpected()
		}
		p.leaf(Literal)
		p.finish(m, ImportAttribute, 0)
		if p.tok != tRBrace {
			p.expect(tComma)
		}
	}
}

func (p *parser) exportDeclaration(m mark) {
	if !p.module {
		p.fail(p.start, "export in a script")
	}
	switch p.next(); p.tok {
	case tStar:
		if p.next(); p.accept(tAs) {
			p.moduleName()
		}
		p.expect(tFrom)
		p.source()
		p.finish(m, ExportAllDeclaration, p.semicolon())
	case tDefault:
		p.next()
		p.exportDefault()
		p.finish(m, ExportDefaultDeclaration, 0)
	case tLBrace:
		if p.specifiers(ExportSpecifier); p.accept(tFrom) {
			p.source()
		}
		p.finish(m, ExportNamedDeclaration, p.semicolon())
	default:
		p.statement(true)
		p.finish(m, ExportNamedDeclaration, 0)
	}
}

// exportDefault parses a declaration, whose name may be absent, or an expression.
func (p *parser) exportDefault() {
	m := p.mark()
	switch p.tok {
	case tFunction:
		p.function(m, FunctionDeclaration, 0)
		return
	case tClass:
		p.class(m, ClassDeclaration)
		return
	case tAsync:
		if t, sameLine := p.peek(); t == tFunction && sameLine {
			p.next()
			p.function(m, FunctionDeclaration, Async)
			return
		}
	}
	p.assignment()
	p.semicolon()
}
