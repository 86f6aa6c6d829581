// Package strict reads YAML that people write, and rejects everything that it does not understand.
// An [Error] has the file, the line, the column and a similar word.
//
// It is below the packages for tests and devices, which define keys and values. It bounds sizes,
// depths and the expansion of aliases. The parser's own failures are errors of the file.
package strict

import "github.com/goccy/go-yaml/ast"

// Reader reads one file.
type Reader struct {
	File  string // for messages
	What  string // a file has one of: "test"
	Least string // what it has at least, to somebody whose file is empty
	Max   int    // bytes

	anchors map[string]ast.Node
	nodes   int // that were read, those behind aliases as often as they are named
}
