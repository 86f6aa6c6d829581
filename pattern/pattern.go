// Package pattern has regular expressions that are compiled at their first use.
//
// A program of many commands uses few of its expressions in one run. Compiling all of them took a
// seventh of its start: a bounded repetition such as {0,99} is a hundred instructions.
package pattern

import (
	"regexp"
	"sync"
)

// Pattern is a regular expression with the methods of [regexp.Regexp]. Methods may be called from
// several goroutines. They panic if the expression is malformed.
type Pattern struct{ compiled func() *regexp.Regexp }

// New returns a pattern without compiling it. A test of this package compiles every expression that
// the module's code passes.
func New(expr string) *Pattern {
	return &Pattern{sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })}
}

func (p *Pattern) Match(b []byte) bool                  { return p.compiled().Match(b) }
func (p *Pattern) MatchString(s string) bool            { return p.compiled().MatchString(s) }
func (p *Pattern) FindString(s string) string           { return p.compiled().FindString(s) }
func (p *Pattern) FindSubmatch(b []byte) [][]byte       { return p.compiled().FindSubmatch(b) }
func (p *Pattern) FindStringSubmatch(s string) []string { return p.compiled().FindStringSubmatch(s) }
func (p *Pattern) FindStringSubmatchIndex(s string) []int {
	return p.compiled().FindStringSubmatchIndex(s)
}
func (p *Pattern) FindAllString(s string, n int) []string { return p.compiled().FindAllString(s, n) }
func (p *Pattern) FindAllSubmatch(b []byte, n int) [][][]byte {
	return p.compiled().FindAllSubmatch(b, n)
}
func (p *Pattern) ReplaceAllString(s, with string) string {
	return p.compiled().ReplaceAllString(s, with)
}

func (p *Pattern) FindAllStringSubmatch(s string, n int) [][]string {
	return p.compiled().FindAllStringSubmatch(s, n)
}

func (p *Pattern) FindAllStringSubmatchIndex(s string, n int) [][]int {
	return p.compiled().FindAllStringSubmatchIndex(s, n)
}

func (p *Pattern) ReplaceAllStringFunc(s string, with func(string) string) string {
	return p.compiled().ReplaceAllStringFunc(s, with)
}
