package ecma

// Kind is the construct that a node represents.
type Kind uint8

// The kinds, with their children in source order. A question mark is an optional child.
const (
	Program             Kind = iota // statements
	EmptyStatement                  // also stands for an absent part of a for statement, with no width
	ExpressionStatement             // expression
	BlockStatement                  // statements
	DebuggerStatement
	WithStatement       // object, body
	ReturnStatement     // argument?
	LabeledStatement    // label, body
	BreakStatement      // label?
	ContinueStatement   // label?
	IfStatement         // test, consequent, alternate?
	SwitchStatement     // discriminant, cases
	SwitchCase          // test?, statements
	ThrowStatement      // argument
	TryStatement        // block, catch clause?, finally block?
	CatchClause         // parameter?, block
	WhileStatement      // test, body
	DoWhileStatement    // body, test
	ForStatement        // initializer, test, update, body
	ForInStatement      // left, right, body
	ForOfStatement      // left, right, body
	FunctionDeclaration // name?, parameters, block
	VariableDeclaration // declarators
	VariableDeclarator  // pattern, initializer?
	ClassDeclaration    // name?, superclass?, body

	ThisExpression
	Super
	ArrayExpression          // elements, without holes
	ObjectExpression         // properties
	Property                 // key, value; a shorthand has one child
	FunctionExpression       // name?, parameters, block; also the value of a method
	ArrowFunctionExpression  // modifier?, parameters, block or expression
	ClassExpression          // name?, superclass?, body
	ClassBody                // members
	MethodDefinition         // key, function
	PropertyDefinition       // key, initializer?
	StaticBlock              // statements
	UnaryExpression          // argument
	UpdateExpression         // argument
	BinaryExpression         // left, right
	LogicalExpression        // left, right
	AssignmentExpression     // left, right
	ConditionalExpression    // test, consequent, alternate
	CallExpression           // callee, arguments
	NewExpression            // callee, arguments
	MemberExpression         // object, property
	ChainExpression          // expression with ?. inside
	SequenceExpression       // expressions
	YieldExpression          // argument?
	AwaitExpression          // argument
	TemplateLiteral          // expressions
	TaggedTemplateExpression // tag, template
	SpreadElement            // argument
	MetaProperty             // two names
	ImportExpression         // source, options?
	ParenthesizedExpression  // expression
	Identifier
	PrivateIdentifier
	Literal

	ObjectPattern     // properties
	ArrayPattern      // elements, without holes
	AssignmentPattern // pattern, default
	RestElement       // pattern
	Params            // patterns; with its parentheses, if there are any
	Modifier          // the word async before the parameters of an arrow function

	ImportDeclaration        // specifiers, source, attributes
	ImportSpecifier          // imported, local?
	ImportDefaultSpecifier   // local
	ImportNamespaceSpecifier // local
	ImportAttribute          // key, value
	ExportNamedDeclaration   // declaration, or specifiers, source?, attributes
	ExportSpecifier          // local, exported?
	ExportDefaultDeclaration // declaration or expression
	ExportAllDeclaration     // exported?, source, attributes
)
