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
	return eachPolicy(field, func(p string) string { return allowIn(p, scripts, hash, runsInline) })
}

// scripts are the directives for inline scripts. Of those in a policy, the first counts.
var scripts = []string{"script-src-elem", "script-src", "default-src"}

// AllowAlso changes a field Content-Security-Policy so that an inline script runs. It applies to
// policies that allow one of some other hashes.
func AllowAlso(field string, others []string, hash string) string {
	return eachPolicy(field, func(p string) string {
		return allowIn(p, scripts, hash, func(sources []string) bool {
			return !slices.ContainsFunc(sources, func(s string) bool { return slices.Contains(others, s) })
		})
	})
}

// AllowConnect changes a field Content-Security-Policy so that scripts may send requests to an
// origin.
func AllowConnect(field, origin string) string {
	return eachPolicy(field, func(p string) string {
		return allowIn(p, []string{"connect-src", "default-src"}, origin,
			func(sources []string) bool { return slices.Contains(sources, "*") })
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

// allowIn adds a source to the first of some directives that the policy has.
func allowIn(policy string, names []string, source string, allowed func(sources []string) bool) string {
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
		if allowed(sources) || slices.Contains(sources, source) {
			return policy
		}
		sources = slices.DeleteFunc(slices.Clone(sources),
			func(s string) bool { return strings.EqualFold(s, "'none'") })
		list := strings.Join(append(sources, source), " ")
		// The default is also for styles, images and others.
		if own := names[len(names)-2]; name == "default-src" {
			return strings.TrimRight(policy, "; ") + "; " + own + " " + list
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
