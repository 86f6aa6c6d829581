// Package ecma parses ECMAScript 2025: scripts and modules, to a tree with exact byte spans.
//
// The tree is one slice in post-order: children come before their parent, and the root is last.
// Each node has 16 bytes and no pointer. For x = a + 1 the slice is
//
//	0 Identifier x   1 Identifier a   2 Literal 1   3 BinaryExpression, First 1   4 AssignmentExpression, First 0
//
// The subtree of node n is Nodes[First : n+1]. Its last child is n-1. So a loop over the slice
// visits every node, children first, and a loop backwards visits parents first. Neither needs
// recursion.
//
// Kinds have the names and the spans of ESTree (https://github.com/estree/estree). Parentheses are
// nodes, as in acorn's preserveParens. So an expression has one span with and one without them.
// [Params] and [Modifier] are additional. TemplateElement does not exist: gaps between expressions
// are text.
//
// The parser accepts every valid program and some invalid ones. Early errors are left to the
// browser. It reads at most 64 MiB of valid UTF-8 and 10,000 levels of nesting. Everything else is
// an [Error].
package ecma
