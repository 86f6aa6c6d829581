// Package strict reads YAML that people write so that nothing passes that is not understood: what
// is wrong is an [Error] that says the file, the line, the column, and what was perhaps meant.
//
// Place in the flow: below the packages whose files people write, tests and devices. It knows YAML
// and no more: what keys there are, and what their values mean, those packages say. Sizes, depths
// and what aliases stand for are bounded, and the parser's own failures are errors of the file.
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
