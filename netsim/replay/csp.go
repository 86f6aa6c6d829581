package replay

import (
	"slices"
	"strings"
)

// allowScript changes a field Content-Security-Policy so that one inline script runs, identified by
// its hash. It allows no other script that was forbidden (CSP Level 3, 6.7.3 and 6.8). A policy in
// the document itself, in a meta element, applies to later content. The script is before all of
// them.
func allowScript(field, hash string) string {
	policies := strings.Split(field, ",")
	for i, p := range policies {
		policies[i] = allowIn(p, hash)
	}
	return strings.Join(policies, ",")
}

func allowIn(policy, hash string) string {
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
	for _, name := range []string{"script-src-elem", "script-src", "default-src"} {
		i, ok := at[name]
		if !ok {
			continue
		}
		words := strings.Fields(directives[i])
		sources := words[1:]
		if runsInline(sources) || slices.Contains(sources, hash) {
			return policy
		}
		sources = slices.DeleteFunc(slices.Clone(sources),
			func(s string) bool { return strings.EqualFold(s, "'none'") })
		allowed := strings.Join(append(sources, hash), " ")
		if name == "default-src" { // which is for styles and all else too, where a hash would mean something else
			return strings.TrimRight(policy, "; ") + "; script-src " + allowed
		}
		directives[i] = " " + words[0] + " " + allowed
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
