// Package document adds code to HTML documents. It adapts content security policies to it.
package document

import (
	"slices"
	"strings"
)

// AllowScript changes a field Content-Security-Policy so that one inline script runs, identified by
// its hash. It allows no other script that was forbidden (CSP Level 3, 6.7.3 and 6.8). A policy in
// the document itself, in a meta element, applies to later content. The script is before all of
// them.
func AllowScript(field, hash string) string {
	return eachPolicy(field, func(p string) string { return allowIn(p, scripts, unless(runsInline, hash)) })
}

// Directives for inline scripts and for code in attributes. Of those in a policy, the first counts.
var (
	scripts    = []string{"script-src-elem", "script-src", "default-src"}
	attributes = []string{"script-src-attr", "script-src", "default-src"}
)

// Changes are inline scripts that have other texts now. The zero value has none.
type Changes struct{ elements, attributes map[string][]string }

// Add notes a script by its hashes, as policies have them. An attribute is code such as onclick.
func (c *Changes) Add(attribute bool, after string, before ...string) {
	all := &c.elements
	if attribute {
		all = &c.attributes
	}
	if *all == nil {
		*all = map[string][]string{}
	}
	for _, hash := range before {
		if known := (*all)[hash]; !slices.Contains(known, after) {
			(*all)[hash] = append(known, after)
		}
	}
}

// Allow changes a field Content-Security-Policy so that the scripts run. It applies to policies
// that allow one of their hashes before the change.
func (c *Changes) Allow(field string) string {
	of := func(all map[string][]string) func([]string) []string {
		return func(sources []string) (more []string) {
			for _, s := range sources {
				more = append(more, all[s]...)
			}
			return more
		}
	}
	return eachPolicy(field, func(p string) string {
		return allowIn(allowIn(p, scripts, of(c.elements)), attributes, of(c.attributes))
	})
}

// AllowConnect changes a field Content-Security-Policy so that scripts may send requests to an
// origin.
func AllowConnect(field, origin string) string {
	return eachPolicy(field, func(p string) string {
		return allowIn(p, []string{"connect-src", "default-src"}, unless(anySource, origin))
	})
}

// AllowTypes changes a field Content-Security-Policy so that scripts may create a policy of Trusted
// Types with a name.
func AllowTypes(field, name string) string {
	return eachPolicy(field, func(p string) string {
		return allowIn(p, []string{"trusted-types"}, unless(anySource, name))
	})
}

// HasDirective reports whether a policy of a field has a directive.
func HasDirective(field, name string) bool {
	for d := range strings.FieldsFuncSeq(field, func(r rune) bool { return r == ',' || r == ';' }) {
		if words := strings.Fields(d); len(words) > 0 && strings.EqualFold(words[0], name) {
			return true
		}
	}
	return false
}

func eachPolicy(field string, change func(policy string) string) string {
	policies := strings.Split(field, ",")
	for i, p := range policies {
		policies[i] = change(p)
	}
	return strings.Join(policies, ",")
}

func anySource(sources []string) bool { return slices.Contains(sources, "*") }

// unless returns a source that is added to those that do not allow it.
func unless(allowed func(sources []string) bool, source string) func([]string) []string {
	return func(sources []string) []string {
		if allowed(sources) {
			return nil
		}
		return []string{source}
	}
}

// allowIn adds sources to the first of some directives that the policy has.
func allowIn(policy string, names []string, added func(sources []string) []string) string {
	directives := strings.Split(policy, ";")
	at := map[string]int{}
	for i, d := range directives {
		if f := strings.Fields(d); len(f) > 0 {
			name := strings.ToLower(f[0])
			if _, twice := at[name]; !twice { // the first counts
				at[name] = i
			}
		}
	}
	for _, name := range names {
		i, ok := at[name]
		if !ok {
			continue
		}
		words := strings.Fields(directives[i])
		sources := words[1:]
		seen := map[string]bool{}
		known := func(s string) bool { before := seen[s]; seen[s] = true; return before }
		for _, s := range sources {
			seen[s] = true
		}
		more := slices.DeleteFunc(added(sources), known)
		if len(more) == 0 {
			return policy
		}
		sources = slices.DeleteFunc(slices.Clone(sources),
			func(s string) bool { return strings.EqualFold(s, "'none'") })
		list := strings.Join(append(sources, more...), " ")
		// The default is also for styles, images and others.
		if name == "default-src" {
			return strings.TrimRight(policy, "; ") + "; " + names[len(names)-2] + " " + list
		}
		directives[i] = " " + words[0] + " " + list
		return strings.TrimLeft(strings.Join(directives, ";"), " ")
	}
	return policy
}

// runsInline reports whether any inline script runs: 'unsafe-inline' counts only where nothing says
// more exactly which.
func runsInline(sources []string) bool {
	any := false
	for _, s := range sources {
		s = strings.ToLower(s)
		switch {
		case s == "'unsafe-inline'":
			any = true
		case s == "'strict-dynamic'", strings.HasPrefix(s, "'nonce-"), strings.HasPrefix(s, "'sha256-"),
			strings.HasPrefix(s, "'sha384-"), strings.HasPrefix(s, "'sha512-"):
			return false
		}
	}
	return any
}
