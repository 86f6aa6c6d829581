// Package policy lists what instrumented pages report. A policy consists of a Go file and a
// JavaScript file, and is listed in all.
//
// The JavaScript is a part of the function that package runtime assembles for a page. It uses the
// functions of that package and saves further natives before it does anything else.
package policy

import (
	"fmt"
	"slices"
	"strings"
)

// About names a policy.
type About struct {
	Name    string
	Meaning string // one sentence for help texts
}

// Policy is what pages report.
type Policy struct {
	About
	// Times is set if the policy needs the calls of all functions.
	Times bool
	// Points are the nodes that get insertions.
	Points []Points
	// Runtime is the policy's JavaScript. It defines the functions that insertions call, with
	// hide(name, f). It is a block of its own.
	Runtime string
	// Fields are those of its values. A record has the index of its field.
	Fields []Field
	// New returns the state of a run; nil: the policy has no values.
	New func() State
	// Share is the probability that a load tests a point; 0: it tests all.
	Share float64
	// Objects is set if the policy's JavaScript reads objects of the page.
	Objects bool
}

// all returns the policies in the order in which they are nested.
func all() []Policy {
	return []Policy{
		errorsPolicy(),
		callsPolicy(),
		loopsPolicy(),
		concatPolicy(),
		leaksPolicy(),
		cacheablePolicy(),
		abPolicy(),
		tracerPolicy(),
		metaPolicy(),
	}
}

// List returns the names and meanings of all policies.
func List() (list []About) {
	for _, p := range all() {
		list = append(list, p.About)
	}
	return list
}

// Named returns the policies of a list of names with commas, without repetitions and in a fixed
// order.
func Named(names string) ([]Policy, error) {
	known, wanted := all(), map[string]bool{}
	for name := range strings.SplitSeq(names, ",") {
		name = strings.TrimSpace(name)
		if !slices.ContainsFunc(known, func(p Policy) bool { return p.Name == name }) {
			return nil, fmt.Errorf("policy %q: unknown; did you mean %s?", name, nearest(name, known))
		}
		wanted[name] = true
	}
	return slices.DeleteFunc(known, func(p Policy) bool { return !wanted[p.Name] }), nil
}

// nearest returns the name with the fewest edits between both.
func nearest(name string, known []Policy) (best string) {
	least := -1
	for _, p := range known {
		if d := distance(name[:min(len(name), 50)], p.Name); least < 0 || d < least {
			best, least = p.Name, d
		}
	}
	return best
}

// distance is the Levenshtein distance of two texts, in bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
