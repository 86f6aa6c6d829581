package policy

import _ "embed"

//go:embed errors.js
var errorsJS string

// errorsPolicy records exceptions and rejections that reach the realm's global object, and elements
// that do not load. Errors that the page catches are not among them.
func errorsPolicy() Policy {
	about := About{"errors", "Uncaught errors, rejected promises, and resources that do not load."}
	return Policy{About: about, Runtime: errorsJS}
}
